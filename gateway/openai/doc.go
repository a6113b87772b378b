// Package openai is the wire format of the gateway.
package openai

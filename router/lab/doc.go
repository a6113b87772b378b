// Package lab runs the real router against modelled replicas in virtual time.
package lab

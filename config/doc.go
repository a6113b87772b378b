// Package config is the operator's one file: its structure, its defaults, how
// it is read, and every way in which it can be wrong.
//
// A configuration is layered: defaults, then the file, then SLUICE_ environment
// variables, then flags. Load parses strictly (an unknown or repeated key is an
// error with its line and the nearest valid key) and Validate reports every
// problem at once, each with the path of the key and what to change.
package config

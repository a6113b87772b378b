//go:build race

package main

// raced says that the race detector is in the binary: it takes several times the
// memory, so that bounds on it mean nothing.
const raced = true

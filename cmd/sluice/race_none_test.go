//go:build !race

package main

// raced says that the race detector is in the binary.
const raced = false

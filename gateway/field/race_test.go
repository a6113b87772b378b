//go:build race

package field

const (
	testsAtOnce = "6"      // under the race detector they work as much as they wait
	soakRate    = 10.0     // requests a second
	memorySlack = 64 << 20 // bytes that the detector may need for its own books
)

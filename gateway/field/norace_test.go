//go:build !race

package field

const (
	testsAtOnce = "24"    // they wait more than they work
	soakRate    = 35.0    // requests a second
	memorySlack = 4 << 20 // bytes by which a resident process may grow
)

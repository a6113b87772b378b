//go:build !unix

package gateway

import "math"

// fileLimit is how many files this process may open: here nobody says.
func fileLimit() uint64 { return math.MaxInt64 }

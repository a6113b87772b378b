package tpu

// gib is 2^30 bytes.
const gib = 1 << 30

// Slice is the chips of one replica.
type Slice struct {
	Chips     int
	FLOPS     float64 // of a chip, bf16, per second
	HBM       float64 // bytes of a chip that a program may use
	Bandwidth float64 // of a chip's HBM, bytes per second
}

// The v6e chip (Trillium). Published: 918 TFLOP/s in bf16, 32 GB of HBM at
// 1638 GB/s. The runtime reports 31.25 GiB as its limit.
func v6e(chips int) Slice {
	return Slice{Chips: chips, FLOPS: 918e12, HBM: 31.25 * gib, Bandwidth: 1638e9}
}

// SliceOf finds a slice by the name that the configuration uses:
// accelerator-topology. False: not known here.
func SliceOf(name string) (Slice, bool) {
	switch name {
	case "v6e-1x1":
		return v6e(1), true
	case "v6e-2x2":
		return v6e(4), true
	case "v6e-2x4":
		return v6e(8), true
	}
	return Slice{}, false
}

// Slices lists the names that SliceOf knows.
func Slices() []string { return []string{"v6e-1x1", "v6e-2x2", "v6e-2x4"} }

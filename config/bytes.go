package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a size in bytes. In the file it is a number with an optional unit:
// 512, 64KiB, 32MiB, 1GiB.
type Bytes int64

// The units, each 1,024 times the one before.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
)

// byteUnits is read-only, largest first, so that String finds the shortest form.
var byteUnits = []struct {
	suffix string
	size   Bytes
}{{"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}, {"B", 1}}

// ParseBytes reads a size: a whole number, alone (bytes) or with B, KiB, MiB or
// GiB. Units of a thousand (MB) are an error: they would be guesses.
func ParseBytes(text string) (Bytes, error) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	unit, err := byteUnit(strings.TrimSpace(text[len(digits):]))
	if err != nil {
		return 0, fmt.Errorf("%q is not a size: %w", text, err)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a size: use a whole number with a unit, such as 512KiB or 32MiB", text)
	}
	if n > math.MaxInt64/int64(unit) || n < math.MinInt64/int64(unit) {
		return 0, fmt.Errorf("%q is not a size: it is more than 8,388,608 TiB", text)
	}
	return Bytes(n) * unit, nil
}

func byteUnit(suffix string) (Bytes, error) {
	if suffix == "" {
		return 1, nil
	}
	for _, u := range byteUnits {
		if u.suffix == suffix {
			return u.size, nil
		}
	}
	for _, u := range byteUnits {
		if strings.EqualFold(u.suffix[:1], suffix[:1]) {
			return 0, fmt.Errorf("the unit %s is not known, write %s (1KiB is 1024 bytes)", suffix, u.suffix)
		}
	}
	return 0, fmt.Errorf("the unit %s is not known, use B, KiB, MiB or GiB", suffix)
}

// String is the shortest text that ParseBytes reads back exactly: 32MiB, 1500B.
func (b Bytes) String() string {
	if b == 0 {
		return "0"
	}
	for _, u := range byteUnits {
		if b%u.size == 0 {
			return strconv.FormatInt(int64(b/u.size), 10) + u.suffix
		}
	}
	panic("BUG: every size is a multiple of 1 byte")
}

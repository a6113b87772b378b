package config

import (
	"math"
	"testing"
)

func TestParseBytes(t *testing.T) {
	good := func(text string, want Bytes) {
		t.Helper()
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("ParseBytes(%q): got %d and error %v, want %d", text, got, err, want)
		}
	}
	good("0", 0)
	good("512", 512)
	good("512B", 512)
	good("64KiB", 65536)
	good("64 KiB", 65536)
	good("32MiB", 32<<20)
	good("1GiB", 1<<30)
	good("-1", -1)
	good("8589934591GiB", 8589934591<<30)

	bad := func(text, want string) {
		t.Helper()
		if got, err := ParseBytes(text); err == nil || err.Error() != want {
			t.Errorf("ParseBytes(%q): got %d and error %v, want %s", text, got, err, want)
		}
	}
	bad("", `"" is not a size: use a whole number with a unit, such as 512KiB or 32MiB`)
	bad("MiB", `"MiB" is not a size: use a whole number with a unit, such as 512KiB or 32MiB`)
	bad("1.5GiB", `"1.5GiB" is not a size: use a whole number with a unit, such as 512KiB or 32MiB`)
	bad("32MB", `"32MB" is not a size: the unit MB is not known, write MiB (1KiB is 1024 bytes)`)
	bad("4g", `"4g" is not a size: the unit g is not known, write GiB (1KiB is 1024 bytes)`)
	bad("4 parsecs", `"4 parsecs" is not a size: the unit parsecs is not known, use B, KiB, MiB or GiB`)
	bad("8589934592GiB", `"8589934592GiB" is not a size: it is more than 8,388,608 TiB`)
}

func TestBytesString(t *testing.T) {
	f := func(b Bytes, want string) {
		t.Helper()
		if got := b.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if back, err := ParseBytes(want); err != nil || back != b {
			t.Errorf("%s reads back as %d with error %v, want %d", want, back, err, b)
		}
	}
	f(0, "0")
	f(1500, "1500B")
	f(32*KiB, "32KiB")
	f(32*MiB, "32MiB")
	f(1536*MiB, "1536MiB")
	f(GiB, "1GiB")
	f(-MiB, "-1MiB")
	f(math.MaxInt64, "9223372036854775807B")
}

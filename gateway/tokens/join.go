package tokens

import "unicode/utf8"

// joinSet tells which two characters a merge can bring together. Those of ASCII are
// told exactly; others by a hash, with a wrong yes now and then.
type joinSet struct {
	ascii [utf8.RuneSelf * utf8.RuneSelf]bool
	wide  []uint64 // 1<<joinBits bits
}

// joinBits makes the set so large that, with Gemma's pairs, one in fifty wrong
// pairs passes.
const joinBits = 20

func newJoinSet() joinSet { return joinSet{wide: make([]uint64, 1<<joinBits/64)} }

func joinHash(a, b rune) uint64 {
	return (uint64(a)<<32 | uint64(b)) * 0x9e3779b97f4a7c15 >> (64 - joinBits)
}

func (s *joinSet) add(a, b rune) {
	if a < utf8.RuneSelf && b < utf8.RuneSelf {
		s.ascii[a*utf8.RuneSelf+b] = true
		return
	}
	h := joinHash(a, b)
	s.wide[h/64] |= 1 << (h % 64)
}

func (s *joinSet) has(a, b rune) bool {
	if a < utf8.RuneSelf && b < utf8.RuneSelf {
		return s.ascii[a*utf8.RuneSelf+b]
	}
	h := joinHash(a, b)
	return s.wide[h/64]>>(h%64)&1 == 1
}

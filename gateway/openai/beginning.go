package openai

import "encoding/binary"

// Beginnings hashes how the prompt of an inspected body begins: its first unit
// bytes into hashes[0], twice as many into hashes[1], and so on; 0 where the
// prompt is shorter. What stands before it in the replica's template, tools and a
// system text, is part of each. It returns the prompt's length in bytes.
//
// Prompts with equal hashes are the same up to there, unless a client makes them
// collide: it can only misplace requests by that.
func (f *Facts) Beginnings(body []byte, unit int, hashes []uint64) int {
	prompt := f.first(body, "messages", "prompt", "input")
	seed := hashName("")
	for _, name := range []string{"tools", "system", "instructions"} {
		seed = mixBytes(seed, f.first(body, name))
	}
	done := 0
	for i := range hashes {
		if unit<<i > len(prompt) {
			break
		}
		seed = mixBytes(seed, prompt[done:unit<<i])
		hashes[i], done = seed|1, unit<<i
	}
	return len(prompt)
}

// first is the first of the members that the body has, name and value; nil: none.
func (f *Facts) first(body []byte, names ...string) []byte {
	for _, name := range names {
		hash := hashName(name)
		for i := range f.count {
			if m := f.member(i); m.hash == hash && !m.null {
				return body[m.at.start:m.at.end]
			}
		}
	}
	return nil
}

// mixBytes is a hash of all bytes, eight at a time.
func mixBytes(h uint64, p []byte) uint64 {
	const prime = 0x9e3779b97f4a7c15
	for ; len(p) >= 8; p = p[8:] {
		h = (h ^ binary.LittleEndian.Uint64(p)) * prime
		h ^= h >> 29
	}
	for _, b := range p {
		h = (h ^ uint64(b)) * prime
		h ^= h >> 29
	}
	return h
}

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
	seed, done := f.setting(body), 0
	for i := range hashes {
		if unit<<i > len(prompt) {
			break
		}
		seed = mixBytes(seed, prompt[done:unit<<i])
		hashes[i], done = seed|1, unit<<i
	}
	return len(prompt)
}

// setting hashes what stands before a prompt.
func (f *Facts) setting(body []byte) uint64 {
	seed := hashName("")
	for _, name := range []string{"tools", "system", "instructions"} {
		seed = mixBytes(seed, f.first(body, name))
	}
	return seed
}

// talk is where a conversation stands in the body, as it was at two times: now,
// and when the model was asked for its last words. It begins at start; ends are 0
// for none.
type talk struct{ start, before, end int }

// add takes in the next message; answers: it begins an answer of the model.
func (t *talk) add(at span, answers bool) {
	if t.end == 0 {
		t.start = at.start
	}
	if answers {
		t.before = t.end
	}
	t.end = at.end
}

// Conversation hashes one, with what stands before it: as it is now, and as
// the request of the turn before had it, which ended where the last answer in it
// begins. So a turn's before is the now of the one that it continues, and of no
// other request, however much of its beginning others share. 0: no conversation,
// or its first turn.
func (f *Facts) Conversation(body []byte) (now, before uint64) {
	if f.talk.end == 0 {
		return 0, 0
	}
	said, cut := body[f.talk.start:f.talk.end], max(f.talk.before-f.talk.start, 0)
	whole := cut &^ 7 // mixed the same way in both
	seed := mixBytes(f.setting(body), said[:whole])
	if cut > 0 {
		before = mixBytes(seed, said[whole:cut]) | 1
	}
	return mixBytes(seed, said[whole:]) | 1, before
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

package vllmsim

import "strings"

// plan is the answer that a sequence will give, decided before it starts: a
// pure function of the prompt's hash and the request's bounds.
type plan struct {
	tokens int // 0: the prompt is only read (embeddings)
	reason ending
	seed   uint64
	fixed  []string // the tokens themselves, where the request left no freedom
	calls  []call   // of tools, within them
	after  int      // tokens of the answer that the prompt ends with
}

// bounds are what a request says about the length of its answer.
type bounds struct {
	most      int  // tokens; what the context leaves where the request has no bound
	explicit  bool // the request itself has a bound
	least     int  // min_tokens
	ignoreEOS bool
	short     bool                                // the prompt asks for a label
	script    func(seed uint64, most int) *script // what it has to say; nil, or its result is: anything
}

// newPlan decides an answer. Bounded answers mostly reach their bound; one in
// eight ends by itself before it.
func newPlan(seed uint64, b bounds) plan {
	if b.script != nil {
		if s := b.script(seed, b.most); s != nil {
			return s.plan(b.most)
		}
	}
	length := naturalLength(seed, b)
	if length < b.least {
		length = b.least
	}
	if length >= b.most || b.ignoreEOS {
		return plan{tokens: b.most, reason: reached, seed: seed}
	}
	return plan{tokens: length, reason: stopped, seed: seed}
}

// naturalLength is where the model would stop by itself, in tokens.
func naturalLength(seed uint64, b bounds) int {
	draw := mix(seed)
	switch {
	case b.short:
		return 1 + int(draw%8)
	case !b.explicit:
		return 64 + int(draw%960)
	case draw%8 != 0:
		return b.most
	}
	return 1 + int(mix(draw)%uint64(b.most))
}

// plan says the script and stops, or says as much of it as the bound leaves.
func (s *script) plan(most int) plan {
	if len(s.pieces) > most {
		return plan{tokens: most, reason: reached, fixed: s.pieces[:most], calls: s.calls}
	}
	return plan{tokens: len(s.pieces), reason: stopped, fixed: s.pieces, calls: s.calls}
}

// split cuts a text into token-sized pieces, at least one, never inside a character.
func split(text string) []string {
	pieces := []string{""}
	for _, r := range text {
		if last := len(pieces) - 1; len(pieces[last]) < bytesPerToken {
			pieces[last] += string(r)
			continue
		}
		pieces = append(pieces, string(r))
	}
	return pieces
}

// text is the tokens from (included) to to (excluded).
func (p plan) text(from, to int) string {
	if p.fixed != nil {
		return strings.Join(p.fixed[from:to], "")
	}
	var b strings.Builder
	for i := from + p.after; i < to+p.after; i++ {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word(p.seed, i))
	}
	return b.String()
}

// word is a token of the answer that follows from a seed.
func word(seed uint64, i int) string { return words[mix(seed+uint64(i))%uint64(len(words))] }

// mix spreads the bits of x (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// words are what answers are made of, a word a token.
var words = strings.Fields(`a about across after again all along also always an and any are as at available back be because
	been before between both but by can change clear close come could day different do does each early enough even every far few
	first follow for found from gate general give good great group half hand have here high how if important in into is it just
	keep kind large last later left less level light like line little long made many may means might more most move much must
	near need new next no not now number of off often on once one only open or order other our out over part people place point
	possible present quite rather reach reason right river same second see several should show side since small so some still such
	take than that the their them then there these they thing this those though through time to together too under until up upon
	use usual very water way well what when where which while will with within without work would year yet`)

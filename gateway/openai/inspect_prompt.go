package openai

// prompts reads a prompt that is no conversation: a text, token ids, or a batch
// of either.
func (in *inspector) prompts() {
	switch in.peek() {
	case '"':
		in.prompt.addString(&in.scanner)
		in.endText()
	case '[':
		in.batch()
	default:
		in.skip()
	}
}

// batch reads a list of prompts, or of the token ids of one.
func (in *inspector) batch() {
	ids := 0
	for in.enterArray(); in.element(); {
		switch in.peek() {
		case '0':
			in.number()
			ids++
		case '"':
			in.prompt.addString(&in.scanner)
			in.endText()
		case '[':
			in.endIDs(in.ids())
		case '{':
			in.item(1)
			in.endText()
		default:
			in.skip()
		}
	}
	if ids > 0 {
		in.endIDs(ids)
	}
}

// ids counts the token ids of one prompt.
func (in *inspector) ids() int {
	n := 0
	for in.enterArray(); in.element(); n++ {
		in.skip()
	}
	return n
}

// endText closes one prompt of a batch whose text has been read.
func (in *inspector) endText() {
	in.f.addText(in.prompt.tokens())
	in.prompt = meter{}
	in.f.Prompts++
}

// endIDs closes one prompt that came as token ids: its count is exact.
func (in *inspector) endIDs(n int) {
	in.f.ExactTokens += n
	in.f.LongestExact = max(in.f.LongestExact, n)
	in.f.Prompts++
}

// side is one side of the pairs that score and rerank judge.
type side struct {
	texts          int
	total, longest float64 // tokens
}

// side reads a text or a list of texts for one side.
func (in *inspector) side(i int) {
	if in.peek() != '[' {
		in.sideText(i)
		return
	}
	for in.enterArray(); in.element(); {
		in.sideText(i)
	}
}

func (in *inspector) sideText(i int) {
	in.content(1)
	tokens := in.prompt.tokens()
	in.prompt = meter{}
	s := &in.sides[i]
	s.texts++
	s.total += tokens
	s.longest = max(s.longest, tokens)
}

// pair makes prompts of the two sides. A side of one text is read again with
// each text of the other.
func (in *inspector) pair() {
	a, b := in.sides[0], in.sides[1]
	in.f.Prompts = max(a.texts, b.texts)
	if a.texts == 1 {
		a.total *= float64(in.f.Prompts)
	}
	if b.texts == 1 {
		b.total *= float64(in.f.Prompts)
	}
	in.f.Text = a.total + b.total
	in.f.Longest = a.longest + b.longest
}

package openai

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
)

// Rest asks a replica for the rest of an answer of which the client has the
// beginning, Text. Chat takes it as the last message, to be gone on with; for a
// completion it stands behind the prompt.
type Rest struct {
	Text []byte // valid UTF-8, not empty
	Left int    // tokens that the request's bound leaves; -1: it has none
}

// Continuable tells whether another replica can go on with the answer to the
// request whose body this is: one streamed text in answer to a prompt in words,
// with no field that makes the rest depend on more than the text so far. A field
// that isn't known to be harmless isn't.
func (f *Facts) Continuable(body []byte) bool {
	if !f.Stream || f.Sequences != 1 || f.Prompts != 1 || f.ExactTokens > 0 || f.Echo || f.MinTokens > 0 {
		return false
	}
	for i := range f.count {
		if m := f.member(i); doubtful(m, body[m.at.start:m.at.end]) {
			return false
		}
	}
	switch f.Endpoint {
	case Chat:
		return lastSpeaker(valueOf(f.first(body, "messages"))) == "user"
	case Completions:
		return bytes.HasPrefix(valueOf(f.first(body, "prompt")), []byte(`"`))
	}
	return false
}

// doubtful tells whether a member may make a difference at the seam.
func doubtful(m *member, text []byte) bool {
	switch {
	case among(ours[:], m.hash):
		return true
	case m.null || among(harmless[:], m.hash):
		return false
	}
	return !among(offWhenEmpty[:], m.hash) || !isEmpty(valueOf(text))
}

// harmless lists the fields whose effect on the rest of an answer is the same
// wherever its beginning came from. Not among them: a seed (the same words
// couldn't come again), stop (a stop may lie across the seam), penalties of what
// has been generated, everything that shapes the answer or reports on its tokens.
var harmless = [...]string{
	"model", "messages", "prompt", "stream", "stream_options", "max_tokens", "max_completion_tokens", "n",
	"temperature", "top_p", "top_k", "min_p", "repetition_penalty", "ignore_eos", "user", "metadata",
}

// offWhenEmpty lists fields that some clients always send. With 0, false or nothing
// in them they ask for nothing.
var offWhenEmpty = [...]string{
	"presence_penalty", "frequency_penalty", "min_tokens", "stop", "stop_token_ids", "logit_bias", "logprobs", "echo", "tools",
}

// ours lists the fields that ask for the rest: not even null may be there.
var ours = [...]string{"continue_final_message", "add_generation_prompt"}

func among(names []string, hash uint64) bool {
	for _, name := range names {
		if hashName(name) == hash {
			return true
		}
	}
	return false
}

func isEmpty(value []byte) bool {
	switch string(value) {
	case "0", "0.0", "false", "[]", "{}", `""`:
		return true
	}
	return false
}

// valueOf is the value of a member, which has been read before; nil of none.
func valueOf(member []byte) []byte {
	s := newScanner(member, MaxDepth)
	if s.peek() != '"' {
		return nil
	}
	s.str()
	s.space()
	s.pos++ // the colon
	s.peek()
	return member[s.pos:]
}

// lastSpeaker is the role of a conversation's last message.
func lastSpeaker(messages []byte) (role string) {
	s := newScanner(messages, MaxDepth)
	if s.peek() != '[' {
		return ""
	}
	for s.enterArray(); s.element(); {
		if role = ""; s.peek() != '{' {
			s.skip()
			continue
		}
		for s.enterObject(); s.member(); {
			if string(s.key) == "role" && s.peek() == '"' {
				role = s.str().String()
				continue
			}
			s.skip()
		}
	}
	return role
}

// CanGoOn tells whether a text can be gone on with, word for word. In a chat it
// can't begin or end in white space: the templates of most models trim it. A
// character that came in halves is one that the text doesn't show.
func (e Endpoint) CanGoOn(text []byte) bool {
	if e == Chat && len(bytes.TrimSpace(text)) < len(text) {
		return false
	}
	return len(text) > 0 && utf8.Valid(text) && !bytes.ContainsRune(text, utf8.RuneError)
}

// TokensSurely is the fewest tokens that a text has, by the estimate less its error.
func TokensSurely(text []byte) int {
	var m meter
	s := newScanner(appendQuoted(nil, string(text)), 1)
	m.addString(&s)
	return int(math.Floor(m.tokens() * (1 - EstimateError)))
}

// askRest appends the changes that ask for the rest. They come before all others
// at the same place, in front of what may be stripped there.
func (f *Facts) askRest(list []change, r *Rest, strip []string) []change {
	quoted := appendQuoted(nil, string(r.Text))
	at := f.member(0).at.start
	var front []byte
	switch f.Endpoint {
	case Chat:
		end := f.talk.end
		turn := append(append([]byte(`,{"role":"assistant","content":`), quoted...), '}')
		list = append(list, change{span{end, end}, turn})
		front = []byte(`"continue_final_message":true,"add_generation_prompt":false,`)
	case Completions:
		end := f.named("prompt").at.end - 1
		list = append(list, change{span{end, end}, quoted[1 : len(quoted)-1]})
	}
	return f.askLeft(append(list, change{span{at, at}, front}), r.Left, strip)
}

// askLeft lowers the bounds to what is left of them. A completion without one has
// one all the same.
func (f *Facts) askLeft(list []change, left int, strip []string) []change {
	if left < 0 {
		return list
	}
	bounded := false
	for _, name := range [...]string{"max_tokens", "max_completion_tokens"} {
		m := f.named(name)
		switch {
		case m == nil || m.null && f.Endpoint != Completions:
			continue
		case !stripped(m.hash, strip):
			list = append(list, change{m.at, appendBound(nil, name, left)})
		}
		bounded = true
	}
	if !bounded {
		at := f.member(0).at.start
		list = append(list, change{span{at, at}, append(appendBound(nil, "max_tokens", left), ',')})
	}
	return list
}

func appendBound(dst []byte, name string, tokens int) []byte {
	dst = append(append(dst, '"'), name...)
	return strconv.AppendInt(append(dst, `":`...), int64(tokens), 10)
}

// named is the top-level member of that name; nil: none.
func (f *Facts) named(name string) *member {
	hash := hashName(name)
	for i := range f.count {
		if m := f.member(i); m.hash == hash {
			return m
		}
	}
	return nil
}

package openai

import "strconv"

// Sequel makes the events of a replica that goes on with an answer those of the
// answer: they bear its id, its time and its model, and the usage is that of the
// whole, as if one replica had given it.
type Sequel struct {
	told   *Told
	prompt int // tokens that the request's own prompt has; 0: not known
	tokens int // that the client had before
}

// NewSequel is for an answer of which the client has been told so many tokens.
// prompt is what the first replica counted of the request's own prompt; 0: that
// isn't known, and follows from what the second one counts.
func NewSequel(told *Told, prompt, tokens int) *Sequel {
	return &Sequel{told: told, prompt: prompt, tokens: tokens}
}

// Tokens is how many the client had before.
func (q *Sequel) Tokens() int { return q.tokens }

// Usage is that of the whole answer; u is what the second replica counted, which
// had the first part in its prompt.
func (q *Sequel) Usage(u Usage) Usage {
	prompt := q.prompt
	if prompt == 0 {
		prompt = max(u.PromptTokens-q.tokens, 0)
	}
	return Usage{PromptTokens: prompt, CompletionTokens: q.tokens + u.CompletionTokens, CachedTokens: min(u.CachedTokens, prompt)}
}

// Event appends the event as the client is to see it. What isn't a chunk stays as
// it is.
func (q *Sequel) Event(dst []byte, ev *Event) []byte {
	changes, ok := q.changes(ev.Data)
	if !ok || len(changes) == 0 {
		return append(dst, ev.Raw...)
	}
	dst = append(dst, "data: "...)
	pos, from := 0, len(dst)
	for _, c := range changes {
		dst = append(append(dst, ev.Data[pos:c.start]...), c.with...)
		pos = c.end
	}
	dst = append(dst, ev.Data[pos:]...)
	for i := from; i < len(dst); i++ {
		if dst[i] == '\n' || dst[i] == '\r' { // of data in several lines, where it is white space
			dst[i] = ' '
		}
	}
	return append(dst, "\n\n"...)
}

// changes are in the order of their places.
func (q *Sequel) changes(data []byte) (list []change, ok bool) {
	s := newScanner(data, eventDepth)
	if s.peek() != '{' {
		return nil, false
	}
	for s.enterObject(); s.member(); {
		switch string(s.key) {
		case "id":
			list = replace(list, &s, q.told.id)
		case "created":
			list = replace(list, &s, q.told.created)
		case "model":
			list = replace(list, &s, q.told.model)
		case "usage":
			list = q.usage(list, &s)
		default:
			s.skip()
		}
	}
	s.end()
	return list, s.err == nil
}

// replace puts a value in place of the next one; nil: that stays.
func replace(list []change, s *scanner, with []byte) []change {
	at := s.skip()
	if with == nil {
		return list
	}
	return append(list, change{at, with})
}

func (q *Sequel) usage(list []change, s *scanner) []change {
	s.peek()
	first := *s // the object is read twice: what it says, then where
	var count usageCount
	if count.read(&first); !count.seen {
		s.skip()
		return list
	}
	u := q.Usage(count.usage())
	for s.enterObject(); s.member(); {
		switch string(s.key) {
		case "prompt_tokens":
			list = replace(list, s, appendCount(u.PromptTokens))
		case "completion_tokens":
			list = replace(list, s, appendCount(u.CompletionTokens))
		case "total_tokens":
			list = replace(list, s, appendCount(u.PromptTokens+u.CompletionTokens))
		case "prompt_tokens_details":
			list = cached(list, s, u.CachedTokens)
		default:
			s.skip()
		}
	}
	return list
}

func cached(list []change, s *scanner, tokens int) []change {
	if s.peek() != '{' {
		s.skip()
		return list
	}
	for s.enterObject(); s.member(); {
		if string(s.key) == "cached_tokens" && s.peek() == '0' {
			list = replace(list, s, appendCount(tokens))
			continue
		}
		s.skip()
	}
	return list
}

func appendCount(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }

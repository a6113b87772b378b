package openai

// Usage is what a replica counted, in tokens. CachedTokens is the part of
// PromptTokens that a prefix cache held; 0 where the replica doesn't say.
type Usage struct {
	PromptTokens     int
	CompletionTokens int
	CachedTokens     int
}

// usageCount is a usage object as it was read. Missing members are 0.
type usageCount struct {
	seen   bool // there was an object, and not null
	in     int  // prompt_tokens, or input_tokens
	out    int  // completion_tokens, or output_tokens
	total  int
	cached int // a part of in
	apart  int // prompt tokens that Anthropic counts beside input_tokens
}

// read reads the value of "usage". The names of all endpoints are distinct, so
// one reader serves them all.
func (u *usageCount) read(s *scanner) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	u.seen = true
	for s.enterObject(); s.member(); {
		switch string(s.key) {
		case "prompt_tokens", "input_tokens":
			u.in = readCount(s)
		case "completion_tokens", "output_tokens":
			u.out = readCount(s)
		case "total_tokens":
			u.total = readCount(s)
		case "prompt_tokens_details", "input_tokens_details":
			u.readDetails(s)
		case "cache_read_input_tokens":
			u.cached = readCount(s)
			u.apart += u.cached
		case "cache_creation_input_tokens":
			u.apart += readCount(s)
		default:
			s.skip()
		}
	}
}

func (u *usageCount) readDetails(s *scanner) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	for s.enterObject(); s.member(); {
		if string(s.key) == "cached_tokens" {
			u.cached = readCount(s)
		} else {
			s.skip()
		}
	}
}

// usage is the count in one form for all endpoints. Calls that pool may report
// nothing but a total, which then is the prompt.
func (u *usageCount) usage() Usage {
	in := u.in + u.apart
	if in == 0 && u.out == 0 {
		in = u.total
	}
	return Usage{PromptTokens: in, CompletionTokens: u.out, CachedTokens: u.cached}
}

// countLimit bounds what is taken for a count; nothing real comes near it.
const countLimit = 1 << 40

// readCount reads a natural number; null and everything else count as 0.
func readCount(s *scanner) int {
	if s.peek() != '0' {
		s.skip()
		return 0
	}
	n := 0
	for _, c := range s.number() {
		n = 10*n + int(c-'0')
		if c < '0' || c > '9' || n > countLimit {
			return 0
		}
	}
	return n
}

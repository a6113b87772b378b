package openai

// number consumes a number that peek has seen.
func (s *scanner) number() []byte {
	if s.err != nil {
		return nil
	}
	start := s.pos
	if s.data[s.pos] == '-' {
		s.pos++
	}
	if s.at() == '0' {
		s.pos++
	} else {
		s.digits()
	}
	if s.at() == '.' {
		s.pos++
		s.digits()
	}
	if s.at()|0x20 == 'e' {
		s.pos++
		if c := s.at(); c == '+' || c == '-' {
			s.pos++
		}
		s.digits()
	}
	return s.data[start:s.pos]
}

// digits steps over at least one digit.
func (s *scanner) digits() {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos]-'0' <= 9 {
		s.pos++
	}
	if s.pos == start {
		s.fail(s.pos, "a number lacks a digit")
	}
}

// literal consumes true, false or null and returns its first letter, 0 when it
// is none of them.
func (s *scanner) literal() byte {
	for _, word := range [...]string{"true", "false", "null"} {
		if rest := s.data[s.pos:]; s.err == nil && len(rest) >= len(word) && string(rest[:len(word)]) == word {
			s.pos += len(word)
			return word[0]
		}
	}
	s.fail(s.pos, "neither a value nor true, false or null")
	return 0
}

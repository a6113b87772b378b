package tokens

import "unicode/utf8"

// Tokenizer counts as one tokenizer.json says. It is made by Load.
type Tokenizer struct {
	chars  charTable  // pieces that are one character
	bytes  [256]int32 // pieces that stand for a byte of a character without a piece
	space  rune       // what a space becomes
	merges mergeTable
	joins  joinSet
	added  addedTokens
	words  wordCache
}

// Count is how many tokens the text is. It adds no <bos>, and reads control tokens
// in the text as such, both as the replica does with a rendered chat. It is at most
// the number of the text's bytes.
func (t *Tokenizer) Count(text []byte) int {
	n, _ := t.count(text, len(text))
	return n
}

// longestQuick is the most bytes of a part that CountQuickly merges. In text that
// somebody wrote parts are words; the longest of 46 kinds had 80 bytes.
const longestQuick = 256

// CountQuickly is Count, but gives up at a part that would take long to merge: a
// thousand dashes, or letters in a row. What it counts costs 1 ms for 12 to 24 KiB
// if the words are new to it.
func (t *Tokenizer) CountQuickly(text []byte) (n int, quick bool) {
	return t.count(text, longestQuick)
}

func (t *Tokenizer) count(text []byte, longest int) (n int, quick bool) {
	var w workspace
	for c := (cursor{t: t, text: text}); c.more(); {
		part, added := c.next()
		switch {
		case added != noToken || len(part) == 1:
			n++ // one byte is one token, whether it has a piece or not
		case len(part) > longest:
			return 0, false
		default:
			n += t.countPart(part, &w)
		}
	}
	return n, true
}

// countPart counts a part that merges may change, or finds it among the words.
func (t *Tokenizer) countPart(part []byte, w *workspace) int {
	if len(part) > longestWord {
		return len(t.merge(part, w))
	}
	slot := t.words.slot(part)
	if n, known := slot.count(part); known {
		return n
	}
	n := len(t.merge(part, w))
	slot.keep(part, n)
	return n
}

// Encode appends the text's tokens to dst.
func (t *Tokenizer) Encode(dst []int32, text []byte) []int32 {
	var w workspace
	for c := (cursor{t: t, text: text}); c.more(); {
		part, added := c.next()
		if added != noToken {
			dst = append(dst, added)
			continue
		}
		dst = append(dst, t.merge(part, &w)...)
	}
	return dst
}

// cursor cuts a text into added tokens and parts that no merge reaches across.
type cursor struct {
	t    *Tokenizer
	text []byte
	pos  int
}

func (c *cursor) more() bool { return c.pos < len(c.text) }

// next is the next part, or an added token.
func (c *cursor) next() (part []byte, added int32) {
	start := c.pos
	if id, end := c.t.added.at(c.text, start); id != noToken {
		c.pos = end
		return c.text[start:end], id
	}
	last, size := c.t.char(c.text[start:])
	for c.pos += size; c.more(); c.pos += size {
		var r rune
		r, size = c.t.char(c.text[c.pos:])
		if !c.t.joins.has(last, r) {
			break
		}
		if id, _ := c.t.added.at(c.text, c.pos); id != noToken {
			break
		}
		last = r
	}
	return c.text[start:c.pos], noToken
}

// badByte is added to a byte that isn't UTF-8, to make a character of it that no
// vocabulary has.
const badByte = utf8.MaxRune + 1

// char is the first character of a text that isn't empty, and its bytes.
func (t *Tokenizer) char(text []byte) (rune, int) {
	if b := text[0]; b < utf8.RuneSelf {
		if b == ' ' {
			return t.space, 1
		}
		return rune(b), 1
	}
	r, size := utf8.DecodeRune(text)
	if r == utf8.RuneError && size == 1 {
		return badByte + rune(text[0]), 1
	}
	return r, size
}

// noToken is no token's id.
const noToken = -1

// charTable finds the piece that is one character. Most pages stay empty.
type charTable [(utf8.MaxRune + 1) >> 8]*[256]int32

// id is the piece's id, noToken if there is none.
func (c *charTable) id(r rune) int32 {
	if page := r >> 8; int(page) < len(c) && c[page] != nil {
		return c[page][r&0xff]
	}
	return noToken
}

func (c *charTable) add(r rune, id int32) {
	page := c[r>>8]
	if page == nil {
		page = new([256]int32)
		for i := range page {
			page[i] = noToken
		}
		c[r>>8] = page
	}
	page[r&0xff] = id
}

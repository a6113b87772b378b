package tokens

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// merge reads one merge: ["a", "b"], or "a b" in older files.
func (l *loader) merge() error {
	left, err := l.readPair()
	if err != nil {
		return err
	}
	a, okA := l.vocab[string(l.pair[:left])]
	b, okB := l.vocab[string(l.pair[left:])]
	both, ok := l.vocab[string(l.pair)]
	if !okA || !okB || !ok {
		return fmt.Errorf("%s makes %q of pieces that are not all in the vocabulary", l.where(), l.pair)
	}
	if isByte(l.pair[:left]) || isByte(l.pair[left:]) {
		return fmt.Errorf("%s merges the piece for a byte, which is not understood", l.where())
	}
	last, _ := utf8.DecodeLastRune(l.pair[:left])
	next, _ := utf8.DecodeRune(l.pair[left:])
	l.t.joins.add(last, next)
	if !l.t.merges.add(a, b, both) {
		return fmt.Errorf("%s is beyond the %d merges that are understood, or there twice", l.where(), noRank)
	}
	return nil
}

// readPair puts the two pieces into pair, and tells where the second begins.
func (l *loader) readPair() (left int, err error) {
	if l.dec.PeekKind() == '"' {
		text, err := l.word()
		if err != nil {
			return 0, err
		}
		a, b, found := bytes.Cut(text, []byte(" "))
		if !found {
			return 0, fmt.Errorf("%s: %q is not two pieces with a space between", l.where(), text)
		}
		l.pair = append(append(l.pair[:0], a...), b...)
		return len(a), nil
	}
	l.pair = l.pair[:0]
	pieces := 0
	err = l.array(func() error {
		text, err := l.word()
		if pieces == 0 {
			left = len(text)
		}
		pieces++
		l.pair = append(l.pair, text...)
		return err
	})
	if err == nil && pieces != 2 {
		err = fmt.Errorf("%s is a list of %d pieces, not of 2", l.where(), pieces)
	}
	return left, err
}

// isByte tells the pieces that stand for bytes: <0x0A>.
func isByte(piece []byte) bool {
	return len(piece) == len("<0x00>") && bytes.HasPrefix(piece, []byte("<0x")) && piece[5] == '>'
}

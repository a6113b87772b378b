package tokens

import (
	"bufio"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"os"
)

// Load reads a tokenizer.json. It takes about half a second for Gemma 3's 33 MB,
// and leaves some 12 MB in memory. The error names the file and what in it isn't
// understood.
func Load(path string) (*Tokenizer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("load tokenizer: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	t, err := read(bufio.NewReaderSize(f, 1<<20), piecesOf(f))
	if err != nil {
		return nil, fmt.Errorf("load tokenizer %q: %w (wanted is the tokenizer.json of a Gemma 3 model)", path, err)
	}
	return t, nil
}

// piecesOf guesses from a file's size how many pieces are in it, merges and all.
func piecesOf(f *os.File) int {
	info, err := f.Stat()
	if err != nil || info.Size() > 1<<30 {
		return 0
	}
	return int(info.Size() / 128)
}

// read reads a tokenizer.json, with room for that many pieces to begin with.
func read(r io.Reader, pieces int) (*Tokenizer, error) {
	// A name given twice counts as in other parsers: the last is taken. To look for
	// them in the vocabulary would take longer than all the rest.
	l := newLoader(jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true)), pieces)
	if err := l.object(l.member); err != nil {
		return nil, err
	}
	if _, err := l.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the end of the object")
	}
	return l.finish()
}

// object reads an object; member consumes the value of each key.
func (l *loader) object(member func(key string) error) error {
	if err := l.open('{'); err != nil {
		return err
	}
	for l.dec.PeekKind() == '"' {
		name, err := l.dec.ReadToken()
		if err != nil {
			return err
		}
		if err := member(name.String()); err != nil {
			return err
		}
	}
	_, err := l.dec.ReadToken()
	return cut(err)
}

// array reads an array; element consumes each value.
func (l *loader) array(element func() error) error {
	if err := l.open('['); err != nil {
		return err
	}
	for kind := l.dec.PeekKind(); kind != ']' && kind != 0; kind = l.dec.PeekKind() {
		if err := element(); err != nil {
			return err
		}
	}
	_, err := l.dec.ReadToken()
	return cut(err)
}

func (l *loader) open(kind jsontext.Kind) error {
	token, err := l.dec.ReadToken()
	if err != nil {
		return cut(err)
	}
	if token.Kind() != kind {
		return fmt.Errorf("%s begins with %s, not with %s", l.where(), token.Kind(), kind)
	}
	return nil
}

// cut gives the end of the file its name: where this is asked, more should come.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// where is the place of the last value: /model/merges/17.
func (l *loader) where() string {
	if at := l.dec.StackPointer(); at != "" {
		return string(at)
	}
	return "the file"
}

// word reads a string; what it gives is valid until the next call.
func (l *loader) word() ([]byte, error) {
	raw, err := l.dec.ReadValue()
	if err != nil {
		return nil, cut(err)
	}
	if raw.Kind() != '"' {
		return nil, fmt.Errorf("%s is no string", l.where())
	}
	l.text, err = jsontext.AppendUnquote(l.text[:0], raw)
	return l.text, err
}

// number reads a piece's number.
func (l *loader) number() (int32, error) {
	token, err := l.dec.ReadToken()
	if err != nil {
		return 0, cut(err)
	}
	if token.Kind() != '0' {
		return 0, fmt.Errorf("%s is no number", l.where())
	}
	n, err := token.Int()
	if err != nil || n < 0 || n >= 1<<idBits {
		return 0, fmt.Errorf("%s is %s, understood are whole numbers from 0 to %d", l.where(), token, 1<<idBits-1)
	}
	return int32(n), nil
}

// want reads a value that must be this one. why says what else is not understood.
func (l *loader) want(value, why string) error {
	got, err := l.dec.ReadValue()
	if err == nil && string(got) != value {
		return fmt.Errorf("%s is %.60s, not %s: %s", l.where(), got, value, why)
	}
	return cut(err)
}

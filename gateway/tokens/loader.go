package tokens

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"unicode/utf8"
)

// loader makes a Tokenizer of the file's members, as it comes upon them.
type loader struct {
	dec    *jsontext.Decoder
	t      *Tokenizer
	vocab  map[string]int32
	merges bool   // they have been read
	text   []byte // of word
	pair   []byte // the pieces of a merge, together
}

func newLoader(dec *jsontext.Decoder, pieces int) *loader {
	t := &Tokenizer{joins: newJoinSet(), added: newAddedTokens(), words: newWordCache(), space: ' '}
	return &loader{dec: dec, t: t, vocab: make(map[string]int32, pieces)}
}

// member reads a member of the file. What it passes over is for those who decode
// tokens, or want <bos> added.
func (l *loader) member(key string) error {
	switch key {
	case "added_tokens":
		return l.array(l.addedToken)
	case "normalizer":
		return l.normalizer()
	case "pre_tokenizer":
		return l.preTokenizer()
	case "model":
		return l.object(l.model)
	}
	return l.dec.SkipValue()
}

func (l *loader) model(key string) error {
	switch key {
	case "type":
		return l.want(`"BPE"`, "no other model is understood")
	case "byte_fallback":
		return l.want("true", "characters without a piece must become bytes")
	case "ignore_merges":
		return l.want("false", "a word that is a piece must still be made by merges")
	case "dropout", "continuing_subword_prefix", "end_of_word_suffix":
		return l.want("null", "it is not understood")
	case "vocab":
		return l.object(l.piece)
	case "merges":
		return l.readMerges()
	}
	return l.dec.SkipValue()
}

// piece reads the number of a piece.
func (l *loader) piece(name string) error {
	id, err := l.number()
	if err != nil {
		return err
	}
	l.vocab[name] = id
	if r, size := utf8.DecodeRuneInString(name); size == len(name) && size > 0 {
		l.t.chars.add(r, id)
	}
	return nil
}

// addedToken reads a token that is taken out of the text before anything else.
func (l *loader) addedToken() error {
	var token struct {
		ID                         int32
		Content                    string
		SingleWord                 bool `json:"single_word"`
		LStrip, RStrip, Normalized bool
	}
	if err := json.UnmarshalDecode(l.dec, &token, json.MatchCaseInsensitiveNames(true)); err != nil {
		return cut(err)
	}
	if token.SingleWord || token.LStrip || token.RStrip || token.Normalized {
		return fmt.Errorf("%s: the token %q has single_word, lstrip, rstrip or normalized set, which is not understood", l.where(), token.Content)
	}
	if token.Content == "" || token.ID < 0 {
		return fmt.Errorf("%s: a token needs content and a number", l.where())
	}
	l.t.added.add(token.Content, token.ID)
	return nil
}

// pattern is what normalizers and pre-tokenizers look for.
type pattern struct {
	Type     string
	Content  string
	Behavior string
	Invert   bool
	Pattern  struct{ String, Regex string }
}

func (l *loader) pattern() (p pattern, err error) {
	return p, cut(json.UnmarshalDecode(l.dec, &p, json.MatchCaseInsensitiveNames(true)))
}

// normalizer reads what becomes of spaces.
func (l *loader) normalizer() error {
	p, err := l.pattern()
	if err != nil {
		return err
	}
	r, size := utf8.DecodeRuneInString(p.Content)
	if p.Type != "Replace" || p.Pattern.String != " " || size == 0 || size != len(p.Content) {
		return fmt.Errorf("/normalizer of type %q is not understood: only Replace, of a space by one character, is", p.Type)
	}
	l.t.space = r
	return nil
}

// preTokenizer reads how the text is cut before it is merged. Gemma's cuts at
// spaces, of which the normalizer has left none.
func (l *loader) preTokenizer() error {
	if l.dec.PeekKind() == 'n' {
		return l.dec.SkipValue()
	}
	p, err := l.pattern()
	if err != nil {
		return err
	}
	if p.Type != "Split" || p.Pattern.String != " " || p.Invert {
		return fmt.Errorf("/pre_tokenizer of type %q is not understood: only Split, at spaces, is", p.Type)
	}
	return nil
}

// readMerges reads the merges, the first with the lowest rank.
func (l *loader) readMerges() error {
	if len(l.vocab) == 0 {
		return errors.New("/model/merges comes before /model/vocab")
	}
	l.merges = true
	l.t.merges = newMergeTable()
	return l.array(l.merge)
}

// finish checks that the parts fit together.
func (l *loader) finish() (*Tokenizer, error) {
	if len(l.vocab) == 0 || !l.merges {
		return nil, errors.New("/model/vocab or /model/merges is missing")
	}
	if l.t.chars.id(l.t.space) == noToken || l.t.space == ' ' {
		return nil, errors.New("/normalizer doesn't replace spaces by a piece of the vocabulary")
	}
	for b := range 256 {
		id, ok := l.vocab[fmt.Sprintf("<0x%02X>", b)]
		if !ok {
			return nil, fmt.Errorf("/model/vocab lacks <0x%02X>, the piece for a byte", b)
		}
		l.t.bytes[b] = id
	}
	for _, control := range []string{bos, startOfTurn, endOfTurn} {
		if !l.t.added.has(control) {
			return nil, fmt.Errorf("/added_tokens lacks %s, which Gemma's chat template needs", control)
		}
	}
	return l.t, nil
}

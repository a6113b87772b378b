package openai

import "unicode/utf8"

// class is a kind of character, as far as a tokenizer treats them alike.
type class uint8

const (
	edge class = iota // before the first character

	vowel  // a e i o u
	lower  // the usual consonants
	scarce // j k q v w x y z: seldom in English, and dearer
	upper
	digit
	space
	newline
	tab
	quote   // " ' `
	opener  // ( [ { <
	closer  // ) ] } >
	stop    // . , ; : ! ?
	joiner  // _ - / \
	sign    // the rest of ASCII's punctuation
	control // below space

	// The same byte of ASCII as just before. Runs of them cost little.
	sameLetter
	sameSpace
	sameNewline
	sameTab
	sameMark

	latin     // letters with marks
	viet      // the precomposed letters of Vietnamese
	combining // marks on their own
	greek
	cyrillic
	hebrew
	arabic
	devanagari
	bengali
	tamil
	indic // the other scripts of India and Sri Lanka
	thai  // and Lao
	khmer // and Burmese, Tibetan
	otherLetter
	kana
	han
	hangul
	typographic // dashes, curly quotes, bullets
	wideMark    // punctuation of East Asia, full-width forms
	symbol      // arrows, mathematics, boxes
	emoji
	rare

	numClasses
)

// asciiClass is the class of each byte below utf8.RuneSelf.
var asciiClass = makeASCII()

func makeASCII() (table [utf8.RuneSelf]class) {
	for c := range table {
		table[c] = classOfASCII(byte(c))
	}
	return table
}

func classOfASCII(c byte) class {
	switch {
	case 'a' <= c && c <= 'z':
		return classOfLetter(c)
	case 'A' <= c && c <= 'Z':
		return upper
	case '0' <= c && c <= '9':
		return digit
	}
	switch c {
	case ' ':
		return space
	case '\n', '\r':
		return newline
	case '\t':
		return tab
	case '"', '\'', '`':
		return quote
	case '(', '[', '{', '<':
		return opener
	case ')', ']', '}', '>':
		return closer
	case '.', ',', ';', ':', '!', '?':
		return stop
	case '_', '-', '/', '\\':
		return joiner
	}
	if c < ' ' || c == 0x7f {
		return control
	}
	return sign
}

func classOfLetter(c byte) class {
	switch c {
	case 'a', 'e', 'i', 'o', 'u':
		return vowel
	case 'j', 'k', 'q', 'v', 'w', 'x', 'y', 'z':
		return scarce
	}
	return lower
}

// again is the class of a byte that repeats the one before it.
var again = [joinerEnd]class{
	edge: edge, vowel: sameLetter, lower: sameLetter, scarce: sameLetter, upper: sameLetter, digit: digit, space: sameSpace, newline: sameNewline,
	tab: sameTab, quote: sameMark, opener: sameMark, closer: sameMark, stop: sameMark, joiner: sameMark,
	sign: sameMark, control: control,
}

const joinerEnd = control + 1

// block is a range of code points of one class, from first to the next block.
type block struct {
	first rune
	class class
}

// blocks lists the code points beyond ASCII in order. In the basic plane they
// begin at multiples of 16, which is the grain of pages. The few signs that this
// puts with the letters of their block don't matter.
var blocks = [...]block{
	{0x80, control}, {0xa0, typographic}, {0xc0, latin},
	{0x250, rare}, {0x300, combining}, {0x370, greek}, {0x400, cyrillic}, {0x530, otherLetter}, {0x590, hebrew}, {0x600, arabic},
	{0x700, rare}, {0x750, arabic}, {0x780, rare}, {0x900, devanagari}, {0x980, bengali}, {0xa00, indic}, {0xb80, tamil}, {0xc00, indic}, {0xe00, thai}, {0xf00, khmer}, {0x10a0, otherLetter},
	{0x1100, rare}, {0x1200, otherLetter}, {0x1380, rare}, {0x1780, khmer}, {0x1800, rare},
	{0x1e00, viet}, {0x1f00, greek}, {0x2000, typographic}, {0x2070, symbol}, {0x2600, emoji}, {0x27c0, symbol}, {0x2c00, rare},
	{0x3000, wideMark}, {0x3040, kana}, {0x3100, rare}, {0x3200, wideMark}, {0x3400, rare}, {0x4e00, han}, {0xa000, rare},
	{0xac00, hangul}, {0xd7b0, rare}, {0xfe00, combining}, {0xfe10, rare}, {0xff00, wideMark}, {0xff60, kana}, {0xffa0, wideMark}, {0xfff0, rare},
}

// pages has the class of each 16 code points of the basic plane.
var pages = makePages()

func makePages() (table [0x1000]class) {
	for page := range table {
		for _, b := range blocks {
			if b.first <= rune(page*16) {
				table[page] = b.class
			}
		}
	}
	return table
}

// classOfRune finds the class of a character beyond ASCII.
func classOfRune(r rune) class {
	if r < 0x10000 {
		return pages[r>>4&0xfff]
	}
	if 0x1f000 <= r && r < 0x1fb00 {
		return emoji
	}
	return rare
}

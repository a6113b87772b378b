package openai

import "math/bits"

// unit is what prices are counted in: a thousandth of a token.
const unit = 1000

// classes rounds numClasses up to a power of two, so that a masked index needs
// no check.
const (
	classes   = 64
	classMask = classes - 1
)

// classSet has a bit for each class.
type classSet uint64

func (s classSet) has(k class) bool { return s>>k&1 == 1 }

// The classes that make up one run together. Every other class runs with itself.
const (
	words    classSet = 1<<lower | 1<<upper | 1<<sameLetter | 1<<latin | 1<<viet | 1<<combining
	spaces   classSet = 1<<space | 1<<sameSpace
	newlines classSet = 1<<newline | 1<<sameNewline
	tabs     classSet = 1<<tab | 1<<sameTab
	marks    classSet = 1<<quote | 1<<opener | 1<<closer | 1<<stop | 1<<joiner | 1<<sign | 1<<sameMark
)

// each is the price of one character of a class. (control is set by hand: each
// is a token. So rare that no text to fit it to was found.)
var each = [numClasses]int32{
	lower: 30, upper: 387, digit: 945, space: 479, newline: 948, tab: 979, quote: 664, opener: 912,
	closer: 186, stop: 383, joiner: 115, sign: 986, control: 1000, sameLetter: 582, sameSpace: 30,
	sameNewline: 30, sameTab: 30, sameMark: 299, latin: 1568, viet: 30, combining: 123, greek: 340,
	cyrillic: 62, hebrew: 444, arabic: 504, devanagari: 335, bengali: 212, tamil: 236, indic: 206,
	thai: 311, khmer: 561, otherLetter: 297, kana: 315, han: 533, hangul: 512, typographic: 919,
	wideMark: 1012, symbol: 342, emoji: 1042, rare: 3557,
}

// first is added for the first character of a run.
var first = [numClasses]int32{
	lower: 575, upper: 603, digit: 583, joiner: 673, cyrillic: 1073, indic: 794, otherLetter: 970, han: 543,
}

// between is added for a character of one class behind a character of another.
var between = [...]struct {
	last, next classSet
	price      int32
}{
	{1 << lower, 1 << upper, 528},
	{1 << upper, 1 << upper, -369},
	{1 << upper, 1 << lower, -538},
	{1 << digit, words, 325},
	{1 << space, words, -438},
	{1 << newline, words, 681},
	{marks, words, 212},
	{1 << space, marks, -316},
	{1 << space, 1 << digit, 327},
	{1 << latin, words, -742},
	{1 << sameMark, 1 << sameMark, -235},
	{1 << sameLetter, 1 << sameLetter, -681},
	{1 << space, 1 << arabic, -1136},
	{1 << space, 1 << devanagari, -525},
	{1 << space, 1 << indic, 475},
	{1 << opener, 1 << quote, -522},
	{1 << quote, 1 << closer, -642},
	{1 << stop, 1 << newline, 398},
	{words, 1 << stop, 567},
}

// deep is added for a letter by how many letters of the word it ends: a word of
// up to four is mostly one token, and then it depends.
var deep = [...]int32{5: 548, 7: -540, 8: 394}

// pairPrice is the price of a character by the class before it (first index)
// and its own.
var pairPrice = makePairs()

func makePairs() (table [classes][classes]int32) {
	for last := range numClasses {
		for next := range numClasses {
			table[last][next] = priceOf(last, next)
		}
	}
	return table
}

func priceOf(last, next class) int32 {
	price := each[next]
	if !sameRun(last, next) {
		price += first[next]
	}
	for _, b := range between {
		if b.last.has(last) && b.next.has(next) {
			price += b.price
		}
	}
	return price
}

func sameRun(a, b class) bool {
	for _, run := range [...]classSet{words, spaces, newlines, tabs, marks} {
		if run.has(a) && run.has(b) {
			return true
		}
	}
	return a == b
}

// isLetter is 1 for the classes of which the letters of a word are counted.
var isLetter = [classes]uint8{lower: 1, upper: 1, sameLetter: 1, latin: 1, viet: 1}

// deepPrice is deep by the last eight characters: bit i of the index is set when
// the i-th last was a letter.
var deepPrice = makeDeep()

func makeDeep() (table [256]int32) {
	for history := range table {
		table[history] = deep[bits.TrailingZeros8(^uint8(history))]
	}
	return table
}

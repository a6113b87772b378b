package openai

import "unicode/utf8"

// unit is what prices are counted in: a thousandth of a token.
const unit = 1000

// classSet has a bit for each class.
type classSet uint64

func (s classSet) has(k class) bool { return s>>k&1 == 1 }

// smalls are the small letters of ASCII.
const smalls classSet = 1<<vowel | 1<<lower | 1<<scarce

// The classes that make up one run together. Every other class runs with itself.
const (
	words    classSet = smalls | 1<<upper | 1<<sameLetter | 1<<latin | 1<<viet | 1<<combining
	spaces   classSet = 1<<space | 1<<sameSpace
	newlines classSet = 1<<newline | 1<<sameNewline
	tabs     classSet = 1<<tab | 1<<sameTab
	marks    classSet = 1<<quote | 1<<opener | 1<<closer | 1<<stop | 1<<joiner | 1<<sign | 1<<sameMark
)

// each is the price of one character of a class. (control is set by hand: each
// is a token. So rare that no text to fit it to was found.)
var each = [numClasses]int32{
	vowel: 324, lower: 64, scarce: 390, upper: 703, digit: 948, space: 211, newline: 1230, tab: 871,
	quote: 610, opener: 801, closer: 290, stop: 398, joiner: 178, sign: 963, control: 1000,
	sameLetter: 820, sameSpace: 99, sameNewline: 30, sameTab: 30, sameMark: 334, latin: 1317,
	viet: 30, combining: 30, greek: 380, cyrillic: 63, hebrew: 497, arabic: 534, devanagari: 349,
	bengali: 255, tamil: 261, indic: 203, thai: 314, khmer: 564, otherLetter: 301, kana: 321,
	han: 536, hangul: 585, typographic: 930, wideMark: 1041, symbol: 348, emoji: 1037, rare: 3550,
}

// first is added for the first character of a run.
var first = [numClasses]int32{
	vowel: 451, lower: 322, digit: 576, joiner: 577, latin: 775, cyrillic: 1279, indic: 935,
	otherLetter: 1184, han: 511,
}

// between is added for a character of one class behind a character of another.
var between = [...]struct {
	last, next classSet
	price      int32
}{
	{smalls, 1 << upper, 439},
	{1 << upper, 1 << upper, -540},
	{1 << upper, smalls, -379},
	{1 << vowel, 1 << lower, -201},
	{1 << scarce, 1 << lower, 607},
	{1 << scarce, 1 << scarce, 817},
	{1 << vowel, 1 << scarce, -395},
	{1 << scarce, 1 << vowel, 643},
	{1 << vowel, 1 << latin, -553},
	{1 << lower, 1 << latin, -537},
	{1 << digit, words, 300},
	{1 << space, words, -245},
	{words, marks, 228},
	{1 << space, 1 << digit, 493},
	{1 << space, 1 << arabic, -1037},
	{1 << space, 1 << devanagari, -344},
	{1 << space, 1 << indic, 578},
	{1 << opener, 1 << quote, -397},
	{1 << quote, 1 << closer, -719},
	{1 << stop, 1 << newline, 381},
	{words, 1 << stop, 352},
}

// eightSame is the price of eight characters that are all the same. (digit and
// control are set by hand: each is a token whatever stands beside it.)
var eightSame = [numClasses]int32{
	vowel: 681, lower: 1481, scarce: 332, upper: 603, digit: 7584, space: 211, newline: 250, tab: 250, control: 8000,
	quote: 200, opener: 200, closer: 200, stop: 251, joiner: 495, sign: 589,
}

// pairPrice is the price of a character by the class before it (first index)
// and its own.
var pairPrice = makePairs()

func makePairs() (table [numClasses][numClasses]int32) {
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

// bytePrice is pairPrice for ASCII: the price of byte next behind the character
// with the code last is at next<<8|last.
var bytePrice = makeBytes()

func makeBytes() *[1 << 16]int16 {
	var table [1 << 16]int16
	for next := range utf8.RuneSelf {
		for last := range 256 {
			k := asciiClass[next]
			if next == last {
				k = again[k]
			}
			table[next<<8|last] = int16(pairPrice[classOfCode(byte(last))][k])
		}
	}
	return &table
}

// widePrice is pairPrice by the code of the character before.
var widePrice = makeWide()

func makeWide() (table [256][numClasses]int32) {
	for last := range table {
		table[last] = pairPrice[classOfCode(byte(last))]
	}
	return table
}

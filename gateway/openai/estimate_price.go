package openai

// classes rounds numClasses up to a power of two, so that a masked index needs
// no check.
const (
	classes   = 64
	classMask = classes - 1
)

// isLetter is 1 for the classes of which words are counted.
var isLetter = [classes]uint8{lower: 1, upper: 1, sameLetter: 1, latin: 1, viet: 1}

// pairPrice is the price of a character by its class (second index) and the
// class before it, in units.
var pairPrice = makePairs()

// depthPrice is added for a letter by the letters before it: bit i of the index
// is set when the i-th last character was a letter.
var depthPrice = makeDepths()

func makePairs() (table [classes][classes]int32) {
	for last := range numClasses {
		for k := range numClasses {
			table[last][k] = unit / 3
		}
	}
	return table
}

func makeDepths() (table [256]int32) { return table }

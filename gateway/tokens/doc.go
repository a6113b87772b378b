// Package tokens counts the tokens of Gemma 3 exactly. It reads the model's own
// tokenizer.json and does what the replica's tokenizer does with a text, so that a
// prompt's length is known before a replica has seen it.
//
// # What the file says
//
// A tokenizer.json of the tokenizers library, of the kind that Gemma has: spaces
// become ▁; added tokens (<bos>, <start_of_turn>, "\n\n", <table>) are taken out of
// the text wherever they stand, the leftmost first and of those the longest; what
// is between them is cut into characters, characters that the vocabulary lacks into
// bytes, and neighbours are merged, the pair with the lowest rank first and of equal
// ones the leftmost, until no merge is left. Load refuses a file that asks for
// anything else, and says what it doesn't understand: a count that is nearly right
// would be worse than the estimator that is there without a file.
//
// # How it is fast
//
// Two characters can only ever come together by a merge whose left piece ends with
// the one and whose right piece begins with the other. Where no merge does, the text
// falls apart, and the parts can be merged each by itself with the same result.
// Gemma's half a million merges join only some 26,000 pairs of characters: no letter
// with the space behind it (but "> </"), no digit with anything. So the parts are
// words and shorter, their merging needs no more than a scan for the lowest rank, and
// the counts of the last few thousand words are remembered. The pairs are a set of
// bits found by a hash: a wrong yes joins two parts that need not be, and changes no
// count.
//
// # Chats
//
// AppendChat writes a conversation as Gemma's chat template does, so that counting
// what it wrote counts the template's own tokens too: 9 for a single turn with the
// opening of its answer, 5 for each turn more.
//
// A Tokenizer is safe for concurrent use and doesn't change, apart from the words
// that it remembers.
package tokens

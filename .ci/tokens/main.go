// Command tokens compares gateway/tokens with a reference, and the estimator of
// gateway/openai with both. `make test-tokens` runs it:
//
//	tokens cases FILE                             writes what the reference is to encode
//	tokens compare TOKENIZER.JSON FILE REFERENCE  compares with what it said
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tokens:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "cases":
		return writeCases(args[1])
	case len(args) == 4 && args[0] == "compare":
		return compare(args[1], args[2], args[3])
	}
	return errors.New("use: tokens cases FILE | tokens compare TOKENIZER.JSON FILE REFERENCE")
}

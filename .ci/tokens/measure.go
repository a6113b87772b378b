package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"sluice/gateway/openai"
	"sluice/gateway/tokens"
)

// speeds prints what counting costs: of all texts together, and of texts made to be
// slow, at the size up to which the gateway counts.
func speeds(t *tokens.Tokenizer, sources []testCase) {
	const size = 12 << 10
	fmt.Printf("\n%-26s %9s %12s\n", "counting", "MB/s", "12 KiB in ms")
	var all strings.Builder
	for _, s := range sources {
		if !strings.HasPrefix(s.Kind, "degenerate_") {
			all.WriteString(s.Text)
		}
	}
	show := func(what, text string) {
		took := fastest(func() { t.CountQuickly([]byte(text)) })
		fmt.Printf("%-26s %9.1f %12.2f\n", what, float64(len(text))/took.Seconds()/1e6, took.Seconds()*1000*size/float64(len(text)))
	}
	show("all texts, words known", all.String())
	// Words that were not seen before: the same texts with a letter put into each.
	fresh, round := strings.Fields(all.String()), 0
	took := fastest(func() {
		round++
		t.CountQuickly([]byte(strings.Join(fresh, string(rune('a'+round%26))+string(rune('a'+round/26%26))+string(rune('a'+round/676%26))+" ")))
	})
	bytes := len(all.String()) + 3*len(fresh)
	fmt.Printf("%-26s %9.1f %12.2f\n", "all texts, words new", float64(bytes)/took.Seconds()/1e6, took.Seconds()*1000*size/float64(bytes))
	for _, unit := range []string{"a", "-", "Lorem", "qzxj"} {
		word := strings.Repeat(unit, 255/len(unit)) + " "
		show(fmt.Sprintf("255 bytes of %q", unit), strings.Repeat(word, size/len(word)))
	}
}

// fastest is the least processor time of some rounds.
func fastest(f func()) time.Duration {
	f()
	best := time.Hour
	for range 10 {
		began, n := processorTime(), 0
		for processorTime()-began < 20*time.Millisecond {
			f()
			n++
		}
		best = min(best, (processorTime()-began)/time.Duration(n))
	}
	return best
}

// estimates prints, as a table, how far the estimator is off for each of our kinds of
// text.
func estimates(t *tokens.Tokenizer, sources []testCase) {
	fmt.Printf("\n| kind of text | bytes | tokens | bytes per token | estimate | off by |\n|---|---:|---:|---:|---:|---:|\n")
	var errs, strange []float64
	slices.SortFunc(sources, func(a, b testCase) int { return strings.Compare(a.Kind, b.Kind) })
	for _, s := range sources {
		n, guess := t.Count([]byte(s.Text)), estimate(s.Text)
		off := guess/float64(n) - 1
		if strings.HasPrefix(s.Kind, "degenerate_") {
			strange = append(strange, math.Abs(off))
		} else {
			errs = append(errs, math.Abs(off))
		}
		fmt.Printf("| %s | %d | %d | %.2f | %.0f | %+.0f %% |\n", strings.Replace(s.Kind, "_", ": ", 1), len(s.Text), n, float64(len(s.Text))/float64(n), guess, 100*off)
	}
	fmt.Println()
	summary("kinds that people write", errs)
	summary("degenerate kinds", strange)
}

func summary(what string, errs []float64) {
	slices.Sort(errs)
	at := func(q float64) float64 { return 100 * errs[int(math.Ceil(q*float64(len(errs))))-1] }
	fmt.Printf("%s: %d; error: median %.1f %%, p90 %.1f %%, p95 %.1f %%, most %.1f %%\n", what, len(errs), at(0.5), at(0.9), at(0.95), at(1))
}

// estimate is what the gateway takes the text for, before it has learned anything.
func estimate(text string) float64 {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	facts, err := openai.Inspect(openai.Completions, fmt.Appendf(nil, `{"model":"m","prompt":%s}`, quoted), openai.MaxDepth)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return facts.Text
}

package openai

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// countedText is a text of testdata/tokens with the count that Gemma 3's
// tokenizer gives it (no bos). The texts were written for this test; no price
// was fitted to them.
type countedText struct {
	kind   string
	text   string
	tokens int
}

func countedTexts(t *testing.T) (list []countedText) {
	t.Helper()
	table, err := os.ReadFile(filepath.Join("testdata", "tokens", "counts.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		var c countedText
		if _, err := fmt.Sscanf(line, "%s\t%d", &c.kind, &c.tokens); err != nil {
			t.Fatalf("counts.tsv: %q: %v", line, err)
		}
		text, err := os.ReadFile(filepath.Join("testdata", "tokens", c.kind+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		c.text = string(text)
		list = append(list, c)
	}
	return list
}

// estimated is the estimate of a text alone, by the way a request takes.
func estimated(t *testing.T, text string) float64 {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return inspect(t, Completions, `{"model":"m","prompt":`+string(quoted)+`}`).Text
}

func TestEstimateOfUnseenKinds(t *testing.T) {
	var errs []float64
	for _, c := range countedTexts(t) {
		off := estimated(t, c.text)/float64(c.tokens) - 1
		t.Logf("%-28s %4d tokens, estimate off by %+4.0f %%", c.kind, c.tokens, 100*off)
		if !strings.HasPrefix(c.kind, "degenerate_") {
			errs = append(errs, math.Abs(off))
		} else if off > 1 || off < -0.5 {
			t.Errorf("%s: off by %+.0f %%, that is more than a factor of 2", c.kind, 100*off)
		}
	}
	slices.Sort(errs)
	p95 := errs[(len(errs)*95+99)/100-1]
	t.Logf("%d kinds: median %.1f %%, p95 %.1f %%, worst %.1f %%", len(errs), 100*errs[len(errs)/2], 100*p95, 100*errs[len(errs)-1])
	if len(errs) < 16 || p95 > EstimateError {
		t.Errorf("p95 of %d kinds is %.1f %%, want at least 16 kinds and at most %.0f %%", len(errs), 100*p95, 100*EstimateError)
	}
}

// TestEstimateStaysInBounds gives every class a text of its own.
func TestEstimateStaysInBounds(t *testing.T) {
	f := func(text string) {
		t.Helper()
		n := estimated(t, text)
		if n < 1 || n < float64(len(text))/bytesAtMost || n > float64(len(text)) {
			t.Errorf("%.20q: %d bytes count %.1f tokens", text, len(text), n)
		}
	}
	for _, b := range blocks {
		for _, n := range []int{1, 2, 1000} {
			f(strings.Repeat(string(b.first+1), n))
			f(strings.Repeat("a"+string(b.first+1), n))
		}
	}
	for c := range rune(128) {
		f(string(c))
		f(strings.Repeat(string(c), 1000))
		f(strings.Repeat(string(c)+"x", 1000))
	}
	if estimated(t, "") != 0 {
		t.Error("no text is no token")
	}
}

func TestBlocksAreInOrder(t *testing.T) {
	for i, b := range blocks[1:] {
		if b.first <= blocks[i].first || b.class == blocks[i].class {
			t.Errorf("block %#x follows %#x", b.first, blocks[i].first)
		}
	}
	for r, want := range map[rune]class{
		'é': latin, 'ß': latin, '§': typographic, 'ế': viet, 'λ': greek, 'ж': cyrillic, 'ש': hebrew, 'ع': arabic, 'ह': devanagari,
		'ক': bengali, 'த': tamil, 'ತ': indic, 'ก': thai, 'ក': khmer, 'ა': otherLetter, 'の': kana, '中': han, '한': hangul, '—': typographic,
		'。': wideMark, '→': symbol, '😀': emoji, '☀': emoji, '𠀀': rare, '\U0010ffff': rare, '\u0301': combining, '\u0085': control,
	} {
		if got := classOfRune(r); got != want {
			t.Errorf("%q is of class %d, want %d", r, got, want)
		}
	}
}

func chatFacts(text float64, turns int) *Facts {
	return &Facts{Features: Features{Text: text, Longest: text, Prompts: 1, Turns: turns, Frame: firstTurn + furtherTurn*(turns-1)}}
}

func TestEstimate(t *testing.T) {
	e := NewEstimator()
	f := func(facts Features, want Count) {
		t.Helper()
		if got := e.Estimate(&Facts{Features: facts}); got != want {
			t.Errorf("%+v: got %+v, want %+v", facts, got, want)
		}
	}
	f(Features{Text: 100, Longest: 100, Prompts: 1, Frame: 9}, Count{Total: 109, Longest: 109, LongestSurely: 79, LongestAtMost: 152})
	f(Features{Text: 100, Longest: 100, Tools: 50, Schemas: 20, Prompts: 1, Frame: 9}, Count{Total: 179, Longest: 179, LongestSurely: 79, LongestAtMost: 252})
	f(Features{Text: 100, Longest: 100, Images: 2, Prompts: 1, Frame: 9}, Count{Total: 629, Longest: 629, LongestSurely: 599, LongestAtMost: 672})
	f(Features{Text: 100, Longest: 60, Prompts: 3, Frame: 3}, Count{Total: 103, Longest: 61, LongestSurely: 42, LongestAtMost: 88})
	f(Features{ExactTokens: 70, LongestExact: 40, Prompts: 3}, Count{Total: 70, Longest: 40, LongestSurely: 40, LongestAtMost: 40, Exact: true})
	f(Features{Text: 100, Longest: 100, ExactTokens: 300, LongestExact: 300, Prompts: 2, Frame: 2}, Count{Total: 402, Longest: 300, LongestSurely: 300, LongestAtMost: 300})
	f(Features{Text: 5000, Longest: 5000, Prompts: 1, Truncate: 1000}, Count{Total: 1000, Longest: 1000, LongestSurely: 1000, LongestAtMost: 1000})
	f(Features{Text: 5000, Longest: 5000, Prompts: 1, Truncate: -1}, Count{Total: 5000, Longest: 5000, LongestAtMost: 7143})
}

func TestEstimatorLearns(t *testing.T) {
	e := NewEstimator()
	facts := chatFacts(1000, 1)
	for range 200 {
		e.Learn(facts, 1309)
	}
	if got := e.Estimate(facts).Total; got < 1300 || got > 1310 {
		t.Errorf("after 200 answers of 1309 tokens the estimate is %d", got)
	}
	for range 1000 {
		e.Learn(facts, 50_000)
	}
	if got := e.Estimate(facts).Total; got > 2100 {
		t.Errorf("nonsense drives the estimate to %d, beyond a factor of 2", got)
	}
}

// TestEstimatorLearnsWhatIsLeftOut has a template that prints no tools, and
// schemas that never reach the prompt.
func TestEstimatorLearnsWhatIsLeftOut(t *testing.T) {
	f := func(tools, schemas float64) {
		t.Helper()
		e := NewEstimator()
		facts := chatFacts(500, 1)
		facts.Tools, facts.Schemas = tools, schemas
		if got := e.Estimate(facts).Total; got != 1509 {
			t.Errorf("at first all of it counts: got %d, want 1509", got)
		}
		for range 200 {
			e.Learn(facts, 509)
		}
		if got := e.Estimate(facts).Total; got > 515 {
			t.Errorf("after 200 answers of 509 tokens the estimate is %d", got)
		}
		if got := e.Estimate(chatFacts(500, 1)).Total; got != 509 {
			t.Errorf("text alone counts %d now, want 509", got)
		}
	}
	f(1000, 0)
	f(0, 1000)
}

// TestEstimatorIgnores shows answers that teach nothing about text.
func TestEstimatorIgnores(t *testing.T) {
	e := NewEstimator()
	e.Learn(chatFacts(5, 1), 300)
	e.Learn(&Facts{Features: Features{ExactTokens: 100, Prompts: 1}}, 300)
	e.Learn(chatFacts(1000, 1), 0)
	e.Learn(&Facts{Features: Features{Text: 1000, Truncate: 10}}, 10)
	if e.known() != (calibration{}) {
		t.Errorf("%+v after nothing to learn from", e.known())
	}
}

// TestEstimatorConcurrently is for the race detector.
func TestEstimatorConcurrently(t *testing.T) {
	e := NewEstimator()
	facts := chatFacts(1000, 2)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				e.Learn(facts, 1200)
				e.Estimate(facts)
			}
		})
	}
	wg.Wait()
	if got := e.Estimate(facts).Total; got < 1190 || got > 1210 {
		t.Errorf("estimate %d after all learned 1200", got)
	}
}

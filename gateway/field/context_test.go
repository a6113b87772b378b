package field

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

// samples are texts of many kinds whose tokens were counted by Gemma 3's own
// tokenizer, by the name of the kind.
func samples(t *testing.T) map[string]counted {
	t.Helper()
	const dir = "../openai/testdata/tokens"
	counts, err := os.ReadFile(filepath.Join(dir, "counts.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]counted)
	for lines := bufio.NewScanner(bytes.NewReader(counts)); lines.Scan(); {
		kind, n, _ := strings.Cut(lines.Text(), "\t")
		tokens, err := strconv.Atoi(n)
		if err != nil {
			t.Fatalf("counts.tsv: %q: %v", lines.Text(), err)
		}
		text, err := os.ReadFile(filepath.Join(dir, kind+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		all[kind] = counted{strings.TrimRight(string(text), "\n"), tokens}
	}
	return all
}

type counted struct {
	text   string
	tokens int
}

// of is about so many tokens of the text, and how many they are: the sample again
// and again, and then so much of it that the rest is about right.
func (s counted) of(tokens int) (text string, n int) {
	whole, rest := tokens/s.tokens, tokens%s.tokens
	runes := []rune(s.text)
	part := string(runes[:len(runes)*rest/s.tokens])
	return strings.Repeat(s.text+"\n\n", whole) + part, tokens + whole // a token for each gap
}

// long is one request and what a replica has to hold for it.
type long struct {
	name   string
	body   map[string]any
	prompt int // tokens that the prompt has
	answer int // that may follow
}

func (l *long) tokens() int { return l.prompt + l.answer }

// told is the request's body; what it truly needs stands in a field that no engine knows.
func (l *long) told() string {
	l.body["model"], l.body["x_tokens"] = "m", l.tokens()
	raw, err := json.Marshal(l.body)
	if err != nil {
		panic("BUG: a body has no JSON form: " + err.Error())
	}
	return string(raw)
}

func message(role, text string) map[string]any { return map[string]any{"role": role, "content": text} }

func ask(name, text string, tokens, answer int) long {
	return long{name, map[string]any{"messages": []any{message("user", text)}, "max_completion_tokens": answer}, tokens + 9, answer}
}

// shapes are requests whose tokens hide where a simple count doesn't look. Each is
// too large for a context of 4,096.
func shapes(kinds map[string]counted) []long {
	english, schema := kinds["prose_english"], kinds["data_json_compact"]
	short, n := english.of(500)
	one, many := ask("one message", "", 0, 500), ask("forty turns", "", 0, 500)
	text, tokens := english.of(4000)
	one.body["messages"], one.prompt = []any{message("user", text)}, tokens
	var turns []any
	text, tokens = english.of(100)
	for i := range 40 {
		turns = append(turns, message([]string{"user", "assistant"}[i%2], text))
	}
	many.body["messages"], many.prompt = turns, 40*(tokens+5)
	tools, format, output := ask("tools", short, n, 50), ask("a schema", short, n, 50), ask("a long answer", short[:len(short)*3/5], 300, 4000)
	big, bigTokens := schema.of(4000)
	tools.body["tools"] = []any{map[string]any{"type": "function", "function": map[string]any{
		"name": "f", "description": big, "parameters": map[string]any{"type": "object"}}}}
	tools.prompt += bigTokens
	format.body["response_format"] = map[string]any{"type": "json_schema", "json_schema": map[string]any{
		"name": "s", "schema": map[string]any{"type": "object", "description": big}}}
	format.prompt += bigTokens
	system := ask("instructions", "go on", 5, 500)
	text, tokens = english.of(4000)
	system.body["messages"] = []any{message("system", text), message("user", "go on")}
	system.prompt = tokens + 20
	return []long{one, many, tools, format, output, system}
}

// TestLongPromptInTheShortPool: a request goes to the pool with the short context
// only if that surely holds it, its answer included, whatever it is made of; few
// that would have fitted go to the other one. The estimate can be seen, and keeps
// to what is documented (30 %).
func TestLongPromptInTheShortPool(t *testing.T) {
	t.Parallel()
	const context = 4096
	engine := gt.Choose(func(c *gt.Call) gt.Script {
		var asked struct {
			Tokens int `json:"x_tokens"`
		}
		if err := json.Unmarshal(c.Body, &asked); err != nil || asked.Tokens > context {
			return gt.Script{gt.Send(gt.Error(500, "OutOfMemory", "RESOURCE_EXHAUSTED"))}
		}
		return yes
	})
	b := newBench(t, engine)
	for _, rep := range b.long {
		rep.Script(yes...)
	}
	b.more = "classification: {w: 1}\n"
	r := b.start(t)
	kinds := samples(t)
	for _, l := range shapes(kinds) {
		r.goes(t, &l, "long")
	}
	under, misplaced := 0, 0
	for _, kind := range []string{"prose_english", "prose_chinese", "prose_japanese", "prose_russian", "prose_arabic", "prose_hindi",
		"degenerate_emoji", "degenerate_base64", "code_javascript", "code_python", "data_json_compact", "data_csv"} {
		// Sizes as they occur: each half as much again as the one before.
		for size := 50; size < 12000; size += size / 2 {
			text, n := kinds[kind].of(size)
			l := ask(kind, text, n, 100)
			if l.tokens() > context {
				r.goes(t, &l, "long")
				continue
			}
			under++
			if r.goes(t, &l, "") != "short" {
				misplaced++
			}
		}
	}
	t.Logf("%d of %d requests that would have fitted into the short pool went to the other", misplaced, under)
	if misplaced*10 >= under {
		t.Errorf("%d of %d requests that would have fitted into the short pool went to the other", misplaced, under)
	}
	r.quiet()
	if n := r.outcomes(router.ReplicaError); n > 0 {
		t.Errorf("%d requests were too much for a replica", n)
	}
	r.zero(b.all()...)
}

// goes sends a request, checks what is told of it, and gives the pool that served
// it: the one that is wanted, if one is.
func (r *rig) goes(t *testing.T, l *long, want string) (pool string) {
	t.Helper()
	answer := r.post(l.told(), "x-sluice-decision: 1")
	pool = answer.Header.Get("x-sluice-pool")
	if answer.Status != 200 || want != "" && pool != want {
		t.Errorf("%s, %d tokens: status %d from pool %q, want %s: %s", l.name, l.tokens(), answer.Status, pool, want, answer.Body)
	}
	var told struct {
		Request struct {
			Tokens int `json:"tokens_in"`
		}
	}
	if err := json.Unmarshal([]byte(answer.Header.Get("x-sluice-decision")), &told); err != nil {
		t.Errorf("%s: x-sluice-decision %q: %v", l.name, answer.Header.Get("x-sluice-decision"), err)
	}
	off := float64(told.Request.Tokens)/float64(l.prompt) - 1
	if math.Abs(off) > 0.3 && l.prompt > 100 {
		t.Errorf("%s: estimated %d tokens, it has %d: %+.0f %%", l.name, told.Request.Tokens, l.prompt, 100*off)
	}
	return pool
}

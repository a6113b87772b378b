package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/gateway/openai"
	"sluice/gateway/tokens"
	"sluice/gateway/tokens/tokenstest"
)

func TestCounted(t *testing.T) {
	tok, err := tokens.Load(tokenstest.Small().File(t))
	if err != nil {
		t.Fatal(err)
	}
	f := func(e openai.Endpoint, members string, prompts ...string) {
		t.Helper()
		body := []byte(`{"model":"m",` + members + `}`)
		facts, err := openai.Inspect(e, body, 100)
		if err != nil {
			t.Fatal(err)
		}
		var want openai.Count
		for _, p := range prompts {
			n := tok.Count([]byte(p))
			want.Total += n
			want.Longest = max(want.Longest, n)
		}
		want.LongestSurely, want.LongestAtMost, want.Exact = want.Longest, want.Longest, len(prompts) > 0
		if got, ok := counted(tok, facts, body); ok != want.Exact || got != want {
			t.Errorf("%v %.100s: got %+v, %v; want %+v", e, members, got, ok, want)
		}
	}
	const opening = "<start_of_turn>model\n"
	f(openai.Chat, `"messages":[{"role":"user","content":" the hen\n"}]`, "<bos><start_of_turn>user\nthe hen<end_of_turn>\n"+opening)
	f(openai.Chat, `"messages":[{"role":"system","content":"Be\n"},{"role":"user","content":[{"type":"text","text":"the "},{"type":"text","text":" hen"}]},{"role":"assistant","content":"x"},{"role":"user","content":"<b>"}]`,
		"<bos><start_of_turn>user\nBe\n\n\nthehen<end_of_turn>\n<start_of_turn>model\nx<end_of_turn>\n<start_of_turn>user\n<b><end_of_turn>\n"+opening)
	f(openai.Chat, `"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]`)
	f(openai.Chat, `"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function"}]`)
	f(openai.Chat, `"messages":[{"role":"user","content":"`+strings.Repeat("a", 1000)+`"}]`)
	f(openai.Completions, `"prompt":["the hen","a  b"]`, "<bos>the hen", "<bos>a  b")
	f(openai.Completions, `"prompt":["the hen","`+strings.Repeat("a", 1000)+`"]`)
	f(openai.Responses, `"instructions":"s","input":"the hen"`, "<bos><start_of_turn>user\ns\n\nthe hen<end_of_turn>\n"+opening)
	f(openai.Messages, `"max_tokens":1,"system":"s","messages":[{"role":"user","content":"the hen"}]`, "<bos><start_of_turn>user\ns\n\nthe hen<end_of_turn>\n"+opening)
	f(openai.Embeddings, `"input":"the hen"`, "<bos>the hen")
}

// tokenizing is a policy whose pool has a tokenizer.
func tokenizing(path string, replicas ...*gatewaytest.Replica) string {
	return strings.Replace(onePool(4, replicas...), "model: served,", "model: served, tokenizer: "+path+",", 1)
}

// TestExactCountsDecide sends a prompt that is too long by its tokens and would pass
// by its estimate: each "~" is a token here, since it has no piece.
func TestExactCountsDecide(t *testing.T) {
	replica := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("a", "stop", 3, 1)))
	rig := start(t, tokenizing(tokenstest.Small().File(t), replica))
	body := func(n int) string {
		return `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"` + strings.Repeat("~", n) + `"}]}`
	}
	if got := rig.post(body(10)); got.Status != 200 {
		t.Fatalf("a short prompt: %d %s", got.Status, got.Body)
	}
	if got := rig.post(body(8400)); got.Status != 400 || !strings.Contains(string(got.Body), "8192") {
		t.Fatalf("a prompt of over 8400 tokens: %d %s", got.Status, got.Body)
	}
	rig.balanced()
	if got := start(t, onePool(4, replica)).post(body(8400)); got.Status != 200 {
		t.Fatalf("by its estimate alone: %d %s", got.Status, got.Body)
	}
}

func TestTokenizersOutliveReloads(t *testing.T) {
	path := tokenstest.Small().File(t)
	replica := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("a", "stop", 3, 1)))
	cfg := parse(t, loopbackDoors+tokenizing(path, replica))
	ps := newPolicies()
	build := func() (*tokens.Tokenizer, error) {
		p, err := ps.build(cfg)
		if err != nil {
			return nil, err
		}
		if p.models["m"].tokenizer != p.models["served"].tokenizer {
			t.Error("the pool's two names have two tokenizers")
		}
		return p.models["m"].tokenizer, nil
	}
	first, err := build()
	if err != nil || first == nil {
		t.Fatalf("got %v and error %v", first, err)
	}
	if again, err := build(); again != first || err != nil {
		t.Errorf("unchanged: read again, error %v", err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, append(tokenstest.Small().JSON(), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if changed, err := build(); changed == first || changed == nil || err != nil {
		t.Errorf("changed: not read again, error %v", err)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := build(); err == nil || !strings.Contains(err.Error(), "pools.p.tokenizer: load tokenizer") {
		t.Errorf("a bad file: got %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := build(); err == nil || !strings.Contains(err.Error(), "pools.p.tokenizer: ") {
		t.Errorf("no file: got %v", err)
	}
}

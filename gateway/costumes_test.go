package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// served is a body as the replica must get it.
func served(body string) string { return strings.Replace(body, `"m"`, `"served"`, 1) }

// Bounds on the output come in every costume. The gateway acts on those that it
// understands, and passes all of them on as they are.
func TestOutputBoundsInEveryCostume(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("x", "stop", 1, 1)))
	r := start(t, onePool(64, rep))
	values := []string{"", "null", "0", "-1", "1", "100.0", "1e3", "6000.5", `"100"`, "true", "2147483648", "9223372036854775808", "1e400", "[]"}
	n := 0
	for _, old := range values {
		for _, recent := range []string{"", "null", "50", "8000"} {
			for _, more := range []string{"", `,"n":8`, `,"best_of":8`, `,"min_tokens":5`} {
				body := `{"model":"m","messages":[{"role":"user","content":"hi"}]` + member("max_tokens", old) + member("max_completion_tokens", recent) + more + "}"
				answer := r.post(body)
				if len(old) >= 10 && (recent == "" || recent == "null") { // more than any context holds
					checkTooLong(t, body, answer)
					continue
				}
				if answer.Status != 200 {
					t.Fatalf("%s: answer %d: %s", body, answer.Status, answer.Body)
				}
				if got := string(rep.Calls()[n].Body); got != served(body) {
					t.Errorf("the replica got %s, want %s", got, served(body))
				}
				n++
			}
		}
	}
	r.quiet()
}

func member(name, value string) string {
	if value == "" {
		return ""
	}
	return fmt.Sprintf(",%q:%s", name, value)
}

func checkTooLong(t *testing.T, body string, answer *gatewaytest.Response) {
	t.Helper()
	if answer.Status != 400 || !strings.Contains(string(answer.Body), "context_length_exceeded") {
		t.Errorf("%s: answer %d: %s", body, answer.Status, answer.Body)
	}
}

// Of two bounds the newer name rules; what is no bound leaves none.
func TestWhichBoundRules(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("x", "stop", 1, 1)))
	r := start(t, onePool(64, rep))
	for bounds, class := range map[string]string{
		`,"max_tokens":8`:   "prefill", // at most 16 tokens
		`,"max_tokens":800`: "decode",
		`,"max_tokens":800,"max_completion_tokens":8`:      "prefill",
		`,"max_tokens":8,"max_completion_tokens":800`:      "decode",
		`,"max_tokens":8,"max_completion_tokens":null`:     "prefill",
		`,"max_tokens":null`:                               "decode",
		`,"max_tokens":"8"`:                                "prefill", // the replicas take it for 8, too
		`,"max_tokens":[],"max_completion_tokens":{"a":1}`: "decode",
	} {
		answer := r.post(`{"model":"m","messages":[{"role":"user","content":"hi"}]` + bounds + "}")
		if got := answer.Header.Get("x-sluice-class"); answer.Status != 200 || got != class {
			t.Errorf("%s: answer %d, class %s, want %s", bounds, answer.Status, got, class)
		}
	}
	r.quiet()
}

// Prompts that are no chat, on all the endpoints that take them.
func TestPromptsOfEveryKind(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t)
	r := start(t, onePool(64, rep))
	many := strings.TrimSuffix(strings.Repeat("7,", 5000), ",")
	const completion = `{"id":"c","object":"text_completion","choices":[{"index":0,"text":"x","finish_reason":"stop"}]}`
	const vectors = `{"object":"list","data":[{"object":"embedding","index":0,"embedding":"AACAPwAAAEA="}],"usage":{"prompt_tokens":3,"total_tokens":3}}`
	for i, test := range []struct {
		path, members, answer string
		tokens                int // known exactly; 0: estimated
	}{
		{"/v1/completions", `"prompt":"x"`, completion, 0},
		{"/v1/completions", `"prompt":[1,2,3]`, completion, 3},
		{"/v1/completions", `"prompt":[[1,2],[3]]`, strings.Replace(completion, "]", `,{"index":1,"text":"y","finish_reason":"stop"}]`, 1), 3},
		{"/v1/completions", `"prompt":["a","b"]`, completion, 0},
		{"/v1/completions", `"prompt":[]`, completion, 0},
		{"/v1/completions", `"prompt":[` + many + `]`, completion, 5000},
		{"/v1/embeddings", `"input":"x"`, vectors, 0},
		{"/v1/embeddings", `"input":[1,2,3],"encoding_format":"base64"`, vectors, 3},
		{"/v1/embeddings", `"input":[[1,2],[3]],"encoding_format":"float"`, vectors, 3},
		{"/v1/embeddings", `"input":["a","b"]`, vectors, 0},
		{"/v1/responses", `"input":[{"role":"user","content":"x"}]`, responsesDialect().whole, 0},
		{"/v1/rerank", `"query":"x","documents":["a","b"]`, `{"results":[{"index":1,"relevance_score":0.5}]}`, 0},
		{"/v1/score", `"text_1":"x","text_2":["a","b"]`, `{"data":[{"index":0,"score":0.5}]}`, 0},
		{"/pooling", `"input":"x"`, `{"data":[{"index":0,"data":[0.5]}]}`, 0},
		{"/tokenize", `"prompt":"x"`, `{"count":1,"max_model_len":8192,"tokens":[1]}`, 0},
		{"/v1/messages/count_tokens", `"messages":[{"role":"user","content":"x"}]`, `{"input_tokens":1}`, 0},
	} {
		body := `{"model":"m",` + test.members + "}"
		rep.Script(gatewaytest.Send(gatewaytest.JSON(200, test.answer)))
		answer := gatewaytest.Post(t, r.data, test.path, body)
		if answer.Status != 200 || string(answer.Body) != test.answer {
			t.Errorf("%s %.60s: answer %d: %s", test.path, body, answer.Status, answer.Body)
			continue
		}
		if call := rep.Call(i); string(call.Body) != served(body) || call.Path != test.path {
			t.Errorf("%s: the replica got %s %.100s, want %.100s", test.path, call.Path, call.Body, served(body))
		}
		eventually(t, "it is logged", func() bool { return strings.Count(r.access.String(), "\n") == i+1 })
		if estimate := r.lastLine(t).TokensInEstimate; test.tokens > 0 && estimate != test.tokens || estimate < 0 {
			t.Errorf("%s %.60s: %d tokens, want %d", test.path, body, estimate, test.tokens)
		}
	}
	for _, path := range []string{"/v1/audio/transcriptions", "/v1/images/generations", "/", "/v1", "/v1/chat/completions/", "/metrics", "/v1/load_lora_adapter", "/sleep"} {
		if answer := gatewaytest.Post(t, r.data, path, plainBody); answer.Status != 404 || !strings.HasPrefix(string(answer.Body), openAIError) {
			t.Errorf("%s: answer %d: %s", path, answer.Status, answer.Body)
		}
	}
	r.quiet()
	if n := r.outcomes(router.Completed); n != 16 {
		t.Errorf("%d completed, want 16", n)
	}
}

// lastLine is the newest line of the access log.
func (r *rig) lastLine(t *testing.T) (line struct {
	TokensInEstimate int      `json:"tokens_in_estimate"`
	TokensIn         *int     `json:"tokens_in"`
	TokensOut        *int     `json:"tokens_out"`
	TTFT             *float64 `json:"ttft_ms"`
	Outcome          string
}) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(r.access.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil {
		t.Fatal(err)
	}
	return line
}

// A batch that streams: its choices come mixed, and it is whole when all are.
func TestBatchStreams(t *testing.T) {
	t.Parallel()
	event := func(index int, text, reason string) string {
		return gatewaytest.Data(fmt.Sprintf(`{"id":"c","object":"text_completion","choices":[{"index":%d,"text":%q,"finish_reason":%s}]}`, index, text, reason))
	}
	events := []string{event(1, "a", "null"), event(0, "b", "null"), event(1, "", `"stop"`), event(0, "c", `"length"`), gatewaytest.Done}
	rep := gatewaytest.NewReplica(t)
	r := start(t, onePool(64, rep))
	body := `{"model":"m","prompt":["x","y"],"stream":true,"stream_options":{"include_usage":false}}`
	for _, test := range []struct {
		events []string
		ending gatewaytest.Ending
	}{
		{events, gatewaytest.Whole},
		{append(append([]string{}, events[:3]...), gatewaytest.Done), gatewaytest.Cut}, // one is not finished
	} {
		rep.Script(gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(test.events...), gatewaytest.Send(gatewaytest.FinalChunk))
		answer := gatewaytest.Post(t, r.data, "/v1/completions", body)
		if answer.Status != 200 || answer.Ending != test.ending || !strings.HasPrefix(string(answer.Body), strings.Join(test.events[:3], "")) {
			t.Errorf("answer %d, ending %v, want %v: %s", answer.Status, answer.Ending, test.ending, answer.Body)
		}
	}
	r.quiet()
}

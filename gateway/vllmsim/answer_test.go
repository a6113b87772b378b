package vllmsim

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
)

func itoa(n int) string { return strconv.Itoa(n) }

type usageCounts struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

type completionAnswer struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Model   string `json:"model"`
	Choices []struct {
		Index   int    `json:"index"`
		Text    string `json:"text"`
		Message struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"message"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
	Usage usageCounts `json:"usage"`
}

func TestPromptsOfEveryKindAreCounted(t *testing.T) {
	_, address := start(t, Options{Speed: 100})
	f := func(prompt string, extra string, wantPrompt, wantChoices int) {
		t.Helper()
		got := decoded[completionAnswer](t, post(t, address, "/v1/completions",
			fmt.Sprintf(`{"model":"m","prompt":%s,"max_tokens":3,"ignore_eos":true%s}`, prompt, extra)))
		if got.Usage != (usageCounts{wantPrompt, 3 * wantChoices, wantPrompt + 3*wantChoices}) || len(got.Choices) != wantChoices {
			t.Errorf("%s: got usage %+v, %d choices", prompt, got.Usage, len(got.Choices))
		}
		for i, c := range got.Choices {
			if c.Index != i || c.Finish != "length" || len(strings.Fields(c.Text)) != 3 {
				t.Errorf("%s: got choice %+v", prompt, c)
			}
		}
	}
	f(`"12345678"`, "", 3, 1)
	f(`["1234","1234"]`, "", 4, 2)
	f(`[1,2,3,4,5]`, "", 5, 1)
	f(`[[1,2],[3]]`, "", 3, 2)
	f(`"1234"`, `,"n":3`, 2, 3)
	f(`["1234","1234"]`, `,"n":2`, 4, 4)
}

func TestChatAnswer(t *testing.T) {
	_, address := start(t, Options{Speed: 100})
	body := `{"model":"m","messages":[{"role":"system","content":"1234"},{"role":"user","content":[{"type":"text","text":"1234"},{"type":"image_url","image_url":{"url":"x"}}]}],"max_completion_tokens":4,"max_tokens":9,"ignore_eos":true}`
	got := decoded[completionAnswer](t, post(t, address, "/v1/chat/completions", body))
	// 9 for the template and the one turn, 1+1 for the system text, 1 for the text, 260 for the image.
	if got.Usage.Prompt != 9+2+1+260 || got.Usage.Completion != 4 {
		t.Errorf("got usage %+v", got.Usage)
	}
	if got.ID != "chatcmpl-r1" || got.Object != "chat.completion" || got.Choices[0].Message.Role != "assistant" || got.Choices[0].Finish != "length" {
		t.Errorf("got %+v", got)
	}
}

func TestTheSamePromptGivesTheSameAnswer(t *testing.T) {
	_, address := start(t, Options{Speed: 100})
	body := `{"model":"m","prompt":"tell","max_tokens":20}`
	first, second := post(t, address, "/v1/completions", body), post(t, address, "/v1/completions", body)
	if fixed(first.Body) != fixed(second.Body) {
		t.Errorf("got %s, then %s", first.Body, second.Body)
	}
}

func TestAnswersOfAllLengths(t *testing.T) {
	f := func(b bounds, wantMost int, wantReasons ...ending) {
		t.Helper()
		reasons := map[ending]bool{}
		for seed := range uint64(200) {
			p := newPlan(seed, b)
			if p.tokens < 1 || p.tokens > wantMost {
				t.Fatalf("%+v: got %d tokens, want 1 to %d", b, p.tokens, wantMost)
			}
			reasons[p.reason] = true
		}
		for _, want := range wantReasons {
			if !reasons[want] {
				t.Errorf("%+v: none of 200 answers ended with %v", b, want)
			}
		}
	}
	f(bounds{most: 100, explicit: true}, 100, stopped, reached)
	f(bounds{most: 1, explicit: true}, 1, reached)
	f(bounds{most: 100000}, 1024, stopped)
	f(bounds{most: 100, explicit: true, short: true}, 8, stopped)
	write, err := (&structuredOutputs{Choice: &[]string{"positive", "negative"}}).writer()
	if err != nil {
		t.Fatal(err)
	}
	f(bounds{most: 100, script: write.script}, 2, stopped)
	f(bounds{most: 1, script: write.script}, 1, reached)
}

func TestChoiceIsOneOfTheChoices(t *testing.T) {
	_, address := start(t, Options{Speed: 100})
	for i := range 5 {
		body := fmt.Sprintf(`{"messages":[{"role":"user","content":"Sentiment of review %d?"}],"structured_outputs":{"choice":["positive","négatif"]},"max_tokens":10}`, i)
		got := decoded[completionAnswer](t, post(t, address, "/v1/chat/completions", body)).Choices[0]
		if got.Finish != "stop" || (got.Message.Content != "positive" && got.Message.Content != "négatif") {
			t.Errorf("got %+v", got)
		}
	}
}

func TestMessagesAndResponsesAnswers(t *testing.T) {
	_, address := start(t, Options{Speed: 100})
	f := func(path, body string, wants ...string) {
		t.Helper()
		got := post(t, address, path, body)
		for _, want := range wants {
			if got.Status != 200 || !strings.Contains(string(got.Body), want) {
				t.Errorf("%s: got status %d, %s; want %s in it", path, got.Status, got.Body, want)
			}
		}
	}
	f("/v1/messages", `{"model":"m","system":"1234","messages":[{"role":"user","content":"1234"}],"max_tokens":2,"ignore_eos":true}`,
		`"type":"message"`, `"stop_reason":"max_tokens"`, `"usage":{"input_tokens":12,"output_tokens":2}`)
	f("/v1/responses", `{"input":[{"role":"user","content":[{"type":"input_text","text":"classify: good?"}]}]}`,
		`"object":"response"`, `"status":"completed"`, `"type":"output_text"`)
	f("/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"1234"}]}`, `"input_tokens":10`)
}

func TestEmbeddingsAreStable(t *testing.T) {
	_, address := start(t, Options{Speed: 100})
	type answer struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float64 `json:"embedding"`
		} `json:"data"`
		Usage usageCounts `json:"usage"`
	}
	got := decoded[answer](t, post(t, address, "/v1/embeddings", `{"model":"m","input":["1234","1234"],"dimensions":8}`))
	square := 0.0
	for i, v := range got.Data[0].Embedding {
		square += v * v
		if v != got.Data[1].Embedding[i] {
			t.Errorf("the same text gave %v and %v", v, got.Data[1].Embedding[i])
		}
	}
	if len(got.Data) != 2 || len(got.Data[0].Embedding) != 8 || square < 0.99 || square > 1.01 || got.Usage != (usageCounts{4, 0, 4}) {
		t.Errorf("got %+v, squared length %v", got, square)
	}
	type packed struct {
		Data []struct {
			Embedding string `json:"embedding"`
		} `json:"data"`
	}
	raw := decoded[packed](t, post(t, address, "/v1/embeddings", `{"model":"m","input":"1234","encoding_format":"base64"}`))
	if b, err := base64.StdEncoding.DecodeString(raw.Data[0].Embedding); err != nil || len(b) != 4*defaultDimensions {
		t.Errorf("got %d bytes, %v", len(b), err)
	}
}

func TestTokenizeAgreesWithUsageAndComesBack(t *testing.T) {
	_, address := start(t, Options{Speed: 100})
	type answer struct {
		Count  int      `json:"count"`
		Max    int      `json:"max_model_len"`
		Tokens []uint32 `json:"tokens"`
	}
	got := decoded[answer](t, post(t, address, "/tokenize", `{"model":"m","prompt":"grüß dich"}`))
	used := decoded[completionAnswer](t, post(t, address, "/v1/completions", `{"prompt":"grüß dich"}`)).Usage.Prompt
	if got.Count != used || got.Count != len(got.Tokens) || got.Max != 128000 {
		t.Errorf("got %+v, usage says %d", got, used)
	}
	back := post(t, address, "/detokenize", fmt.Sprintf(`{"model":"m","tokens":%s}`, mustJSON(got.Tokens)))
	if string(back.Body) != `{"prompt":"<bos>grüß dich"}` {
		t.Errorf("got %s", back.Body)
	}
	chat := decoded[answer](t, post(t, address, "/tokenize", `{"messages":[{"role":"user","content":"hi"}]}`))
	if chat.Count != 10 || len(chat.Tokens) != 10 {
		t.Errorf("got %+v for a chat, want 10 tokens", chat)
	}
}

func TestErrors(t *testing.T) {
	_, address := start(t, Options{MaxModelLen: 4096})
	f := func(path, body string, status int, kind, param, text string) {
		t.Helper()
		got := post(t, address, path, body)
		object := string(got.Body)
		for _, want := range []string{`"type":` + strconv.Quote(kind), `"code":` + itoa(status), param, text} {
			if got.Status != status || !strings.Contains(object, want) {
				t.Errorf("%s %.60s: got status %d, %s; want %d with %s", path, body, got.Status, object, status, want)
			}
		}
	}
	chat, text := "/v1/chat/completions", "/v1/completions"
	f(chat, `{"model":`, 400, "Bad Request", `"param":"body.9"`, "JSON")
	f(chat, `{"model":"x","messages":[{"role":"user","content":"hi"}]}`, 404, "NotFoundError", `"param":"model"`, "`x` does not exist")
	f(chat, `{"messages":[]}`, 400, "BadRequestError", `"param":null`, "empty conversation")
	f(chat, `{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}`, 400, "BadRequestError", "", "must alternate")
	f(chat, `{"messages":[{"role":"user","content":"a"}],"tools":[]}`, 400, "BadRequestError", `"param":"tools"`, "")
	f(chat, `{"messages":[{"role":"user","content":"a"}],"seed":7}`, 400, "BadRequestError", "", "JAX does not support per-request seed")
	f(chat, `{"messages":[{"role":"user","content":"a"}],"stream_options":{}}`, 400, "BadRequestError", `"param":"stream_options"`, "")
	f(chat, `{"messages":[{"role":"user","content":"a"}],"max_tokens":0}`, 400, "BadRequestError", `"param":"max_tokens"`, "at least 1")
	f(chat, `{"messages":[{"role":"user","content":"a"}],"max_tokens":-1}`, 400, "BadRequestError", `"param":"max_tokens"`, "got -1")
	f(chat, `{"messages":[{"role":"user","content":"a"}],"n":0}`, 400, "BadRequestError", `"param":null`, "got 0")
	f(text, `{"prompt":"a","max_tokens":4097}`, 400, "BadRequestError", `"param":"max_tokens"`, "max_model_len=4096")
	f(text, `{"prompt":[`+strings.Repeat("5,", 4096)+`5]}`, 400, "BadRequestError", `"param":"input_tokens"`, "maximum context length is 4096 tokens")
	f(text, `{"prompt":"`+strings.Repeat("a", 4*4096)+`"}`, 400, "BadRequestError", "", "Please reduce")
	f(text, `{"prompt":[]}`, 400, "BadRequestError", `"param":null`, "at least one prompt")
	f(text, `{"prompt":7}`, 400, "BadRequestError", `"param":"prompt"`, "")
	f("/v1/embeddings", `{"input":null}`, 400, "BadRequestError", `"param":"input"`, "")
	if got := post(t, address, "/v1/messages", `{"model":"m","messages":[{"role":"user","content":"a"}]}`); got.Status != 400 || !strings.HasPrefix(string(got.Body), `{"error":{"message":"1 validation error:\n  {'type': 'missing', 'loc': 'body.max_tokens'`) {
		t.Errorf("messages without max_tokens: got status %d, %s", got.Status, got.Body)
	}
	if got := post(t, address, "/v1/unknown", "{}"); got.Status != 404 || string(got.Body) != `{"detail":"Not Found"}` {
		t.Errorf("unknown path: got status %d, %s", got.Status, got.Body)
	}
	if got := gatewaytest.Get(t, address, chat); got.Status != 405 {
		t.Errorf("GET of a POST route: got status %d", got.Status)
	}
	form := gatewaytest.Request("POST", chat, "") // no Content-Type
	if got := (gatewaytest.Target{Address: address}).Fetch(t, form); got.Status != 400 {
		t.Errorf("no content type: got status %d", got.Status)
	}
}

func TestAPIKeyGuardsWhatVLLMGuards(t *testing.T) {
	_, address := start(t, Options{APIKey: "k", Speed: 100})
	f := func(path string, want int, lines ...string) {
		t.Helper()
		if got := gatewaytest.Get(t, address, path, lines...); got.Status != want {
			t.Errorf("%s %v: got status %d, want %d", path, lines, got.Status, want)
		}
	}
	f("/v1/models", 401)
	f("/v1/models", 401, "Authorization: Bearer x")
	f("/v1/models", 200, "Authorization: Bearer k")
	f("/health", 200)
	f("/metrics", 200)
	f("/version", 200)
}

// Whatever a body holds, it is either planned or refused.
func FuzzBodies(f *testing.F) {
	for _, body := range []string{
		`{"messages":[{"role":"user","content":"hi"}],"n":2,"tools":[{}]}`, `{"prompt":[[1,2],[3]],"max_tokens":3}`,
		`{"input":"hi","max_output_tokens":1}`, `{"system":[{"type":"text","text":"x"}],"messages":[{"role":"user","content":null}],"max_tokens":1}`,
		`{"prompt":"a","structured_outputs":{"choice":["x",""]},"min_tokens":-3}`,
		`{"messages":[{"role":"user","content":"use a tool"}],"tools":[{"function":{"name":"t","parameters":{"type":"object","properties":{"a":{"type":"array"}}}}}],"tool_choice":"required","max_tokens":9}`,
		`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{}]},{"role":"tool","content":"x"}],"tools":[{"function":{"name":"t"}}],"tool_choice":{"function":{"name":"t"}}}`,
		`{"input":[{"role":"user","content":"hi"},{"type":"function_call","name":"t"},{"type":"function_call_output","output":"x"}],"text":{"format":{"type":"json_schema","schema":{"enum":[1]}}}}`,
		`{"messages":[{"role":"user","content":"hi"}],"max_tokens":1,"tools":[{"name":"t","input_schema":{}}],"tool_choice":{"type":"any"},"response_format":{"type":"json_object"}}`,
		`{"messages":[{"role":"user","content":"hi"}],"tools":[{"function":{"name":"t","parameters":{"properties":{"a":{"type":""}}}}}],"tool_choice":"required"}`,
	} {
		f.Add(body)
	}
	o := Options{MaxModelLen: 512}.withDefaults()
	f.Fuzz(func(t *testing.T, body string) {
		for _, parse := range []func(*http.Request) (*work, error){parseChat, parseCompletions, parseResponses, parseMessages} {
			r := httptest.NewRequest("POST", "/", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			task, err := parse(r)
			if err != nil || task.check(&o) != nil || task.n > 16 {
				continue
			}
			for _, s := range task.job(&o).sequences {
				if s.plan.tokens < 1 || s.core.Prompt+s.plan.tokens > o.MaxModelLen {
					t.Errorf("%s: prompt %d, answer %d tokens", body, s.core.Prompt, s.plan.tokens)
				}
				s.plan.text(0, s.plan.tokens)
			}
		}
	})
}

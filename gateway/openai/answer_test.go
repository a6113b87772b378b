package openai

import "testing"

func TestJudgeAnswer(t *testing.T) {
	f := func(e Endpoint, body string, want Verdict) {
		t.Helper()
		if got := JudgeAnswer(e, []byte(body)); got != want {
			t.Errorf("%v: %s:\ngot %+v, want %+v", e, body, got, want)
		}
	}
	const said, silent = true, false
	counted := func(ending Ending, content bool, u Usage) Verdict {
		return Verdict{Ending: ending, Usage: u, HasUsage: true, HasContent: content}
	}
	uncounted := func(ending Ending, content bool) Verdict { return Verdict{Ending: ending, HasContent: content} }

	f(Chat, `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Down.","tool_calls":[]},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"total_tokens":12,"completion_tokens":3,"prompt_tokens_details":null}}`,
		counted(EndingComplete, said, Usage{9, 3, 0}))
	f(Chat, `{"choices":[{"index":0,"message":{"content":null,"tool_calls":[{"id":"t"}]},"finish_reason":"tool_calls"}]}`, uncounted(EndingComplete, said))
	f(Chat, `{"choices":[{"index":0,"message":{"content":""},"finish_reason":"abort"}]}`, uncounted(EndingAborted, silent))
	f(Chat, `{"choices":[{"index":0,"message":{"content":"Do"},"finish_reason":"abort"}]}`, uncounted(EndingAborted, said))
	f(Chat, `{"choices":[{"index":0,"message":{"content":"Do"},"finish_reason":"\u0061bort"}]}`, uncounted(EndingAborted, said))
	f(Chat, `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"},{"index":1,"message":{"content":""},"finish_reason":"abort"}]}`, uncounted(EndingAborted, said))
	f(Chat, `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"},{"index":1,"message":{"content":"b"},"finish_reason":null}]}`, uncounted(EndingOpen, said))
	f(Chat, `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"error"}]}`, uncounted(EndingError, said))
	f(Chat, `{"choices":[]}`, uncounted(EndingOpen, silent))
	f(Chat, `{"error":{"message":"no"}}`, uncounted(EndingError, silent))
	f(Chat, `{"object":"error","message":"no","code":400}`, uncounted(EndingError, silent))
	f(Chat, `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]`, uncounted(EndingOpen, silent))
	f(Chat, `[]`, uncounted(EndingOpen, silent))
	f(Completions, `{"choices":[{"index":0,"text":"a","finish_reason":"length"},{"index":1,"text":"","finish_reason":"stop"}]}`, uncounted(EndingComplete, said))

	f(Responses, `{"id":"r","status":"completed","error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"a"}]}],"usage":{"input_tokens":4,"output_tokens":2,"input_tokens_details":{"cached_tokens":1}}}`,
		counted(EndingComplete, said, Usage{4, 2, 1}))
	f(Responses, `{"status":"incomplete","output":[{"name":"f","arguments":""}]}`, uncounted(EndingComplete, said))
	f(Responses, `{"status":"failed","error":{"code":"server_error"},"output":[]}`, uncounted(EndingFailed, silent))
	f(Responses, `{"status":"cancelled","output":[{"content":[]}]}`, uncounted(EndingAborted, silent))
	f(Responses, `{"status":"cancelled","output":[{"type":"message","content":[{"type":"output_text","text":""}]}]}`, uncounted(EndingAborted, silent))
	f(Responses, `{"status":"cancelled","output":[{"type":"message","content":[{"type":"output_text","text":""},{"text":"a"}]}]}`, uncounted(EndingAborted, said))
	f(Responses, `{"status":"in_progress","output":[]}`, uncounted(EndingOpen, silent))
	f(Responses, `{"output":[]}`, uncounted(EndingOpen, silent))
	f(Responses, `{"error":{"message":"no"}}`, uncounted(EndingError, silent))

	f(Messages, `{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":4,"output_tokens":2}}`,
		counted(EndingComplete, said, Usage{4, 2, 0}))
	f(Messages, `{"type":"message","content":[],"stop_reason":null}`, uncounted(EndingAborted, silent))
	f(Messages, `{"type":"message","content":[{"type":"text","text":""}],"stop_reason":null}`, uncounted(EndingAborted, silent))
	f(Messages, `{"type":"error","error":{"type":"api_error","message":"no"}}`, uncounted(EndingError, silent))
	f(Messages, ``, uncounted(EndingOpen, silent))

	f(Embeddings, `{"object":"list","data":[{"embedding":[0.5,-1e-3]}],"usage":{"prompt_tokens":7,"total_tokens":7}}`, counted(EndingComplete, said, Usage{7, 0, 0}))
	f(Embeddings, `{"object":"list","data":[{"embedding":[0.5,-1e-`, uncounted(EndingOpen, silent))
	f(Rerank, `{"results":[],"usage":{"total_tokens":7}}`, counted(EndingComplete, said, Usage{7, 0, 0}))
	f(Pooling, `{"error":{"message":"no"}}`, uncounted(EndingError, silent))
	f(Score, ``, uncounted(EndingOpen, silent))
	f(Tokenize, `{"count":3,"max_model_len":8192,"tokens":[1,2,3]}`, uncounted(EndingComplete, said))
	f(RenderCompletions, `[{"prompt_token_ids":[1]}]`, uncounted(EndingComplete, said))
	f(CountTokens, `{"input_tokens":3} x`, uncounted(EndingOpen, silent))
}

func TestJudgeAnswerDoesNotAllocateMuch(t *testing.T) {
	body := []byte(`{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`)
	if got := testing.AllocsPerRun(10, func() { JudgeAnswer(Chat, body) }); got > 1 {
		t.Errorf("got %v allocations, want at most 1", got)
	}
}

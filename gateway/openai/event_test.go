package openai

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var kindNames = [...]string{
	EventOther: "other", EventComment: "comment", EventRole: "role", EventToken: "token",
	EventFinish: "finish", EventUsage: "usage", EventDone: "done", EventError: "error",
}

// walkAll feeds stream to w in pieces of the given size and returns its events in
// words, and what is left over. The buffer moves as a real one does.
func walkAll(w *Walker, stream []byte, size int) (words []string, joined, rest []byte) {
	var buf []byte
	for len(stream) > 0 {
		n := min(size, len(stream))
		buf = append(bytes.Clone(buf), stream[:n]...)
		stream = stream[n:]
		for {
			ev := w.Next(buf)
			if ev.Raw == nil {
				break
			}
			words = append(words, inWords(ev))
			joined = append(joined, ev.Raw...)
			buf = buf[len(ev.Raw):]
		}
	}
	return words, joined, buf
}

// inWords shows an event: its kind, + when an event of another kind than token
// bears tokens, - when it isn't for the client.
func inWords(ev Event) string {
	word := kindNames[ev.Kind]
	if ev.Tokens && ev.Kind != EventToken {
		word += "+"
	}
	if ev.Strip {
		word += "-"
	}
	return word
}

func TestWalkGolden(t *testing.T) {
	type want struct {
		file    string
		choices int
		events  string
		ending  Ending
		usage   Usage // zero: none was reported
	}
	chatUsage := Usage{17, 9, 16}
	for _, tt := range []want{
		{"chat", 1, "role token token finish+ usage done", EndingComplete, chatUsage},
		{"chat_crlf", 1, "role token token finish+ usage done", EndingComplete, chatUsage},
		{"chat_cr", 1, "role token token finish+ usage done", EndingComplete, chatUsage},
		{"chat_many_lines", 1, "finish+ done", EndingComplete, Usage{}},
		{"chat_no_usage", 1, "role token finish+ done", EndingComplete, Usage{}},
		{"chat_continuous_usage", 1, "role token finish+ usage done", EndingComplete, Usage{17, 2, 0}},
		{"chat_two_choices", 2, "role role token token finish+ token finish usage done", EndingComplete, Usage{17, 5, 0}},
		{"chat_second_choice_missing", 2, "role role token finish+ done", EndingOpen, Usage{}},
		{"chat_second_choice_missing", 0, "role role token finish+ done", EndingOpen, Usage{}},
		{"chat", 2, "role token token finish+ usage done", EndingOpen, chatUsage},
		{"chat_tool_call", 1, "role token token token finish usage done", EndingComplete, Usage{80, 21, 0}},
		{"chat_reasoning", 1, "role comment token token finish+ usage done", EndingComplete, Usage{20, 8, 0}},
		{"chat_abort_empty", 1, "role finish done", EndingAborted, Usage{}},
		{"chat_abort_midway", 1, "role token finish+ done", EndingAborted, Usage{}},
		{"chat_error_event", 1, "role token error done", EndingError, Usage{}},
		{"chat_error_first", 1, "error done", EndingError, Usage{}},
		{"chat_finish_error", 1, "role finish+ done", EndingError, Usage{}},
		{"chat_no_done", 1, "role finish+", EndingComplete, Usage{}},
		{"chat_done_without_finish", 1, "role token done", EndingOpen, Usage{}},
		{"chat_cut_in_event", 1, "role token", EndingOpen, Usage{}},
		{"chat_heartbeats", 1, "comment comment comment comment comment comment role token finish+ done", EndingComplete, Usage{}},
		{"chat_unreadable", 1, "role other other other other other finish+ done", EndingComplete, Usage{}},
		{"chat_empty_answer", 1, "role finish usage done", EndingComplete, Usage{17, 1, 0}},
		{"chat_token_ids", 1, "role token finish+ done", EndingComplete, Usage{}},
		{"completions", 1, "token token finish+ usage done", EndingComplete, Usage{12, 8, 0}},
		{"completions_batch", 4, "token token finish token finish+ finish+ finish+ usage done", EndingComplete, Usage{12, 8, 0}},
		{"completions_batch", 5, "token token finish token finish+ finish+ finish+ usage done", EndingOpen, Usage{12, 8, 0}},
		{"responses", 1, "role role role role token token other other other finish", EndingComplete, Usage{31, 5, 16}},
		{"responses_incomplete", 1, "role role role role token other other other finish", EndingComplete, Usage{31, 5, 16}},
		{"responses_failed", 1, "role role role role token finish", EndingFailed, Usage{}},
		{"responses_cancelled", 1, "role role role role token other other other finish", EndingAborted, Usage{31, 5, 16}},
		{"responses_cut", 1, "role role role role token other other other", EndingOpen, Usage{}},
		{"responses_error", 1, "role role role role token error", EndingError, Usage{}},
		{"responses_tool_call", 1, "role token token token other finish", EndingComplete, Usage{31, 5, 16}},
		{"messages", 1, "role role comment token token other finish finish done", EndingComplete, Usage{25, 7, 0}},
		{"messages_thinking_tool", 1, "role role token other other token token other finish finish done", EndingComplete, Usage{25, 7, 0}},
		{"messages_abort_empty", 1, "role role finish done", EndingAborted, Usage{25, 0, 0}},
		{"messages_error", 1, "role role token error done", EndingError, Usage{}},
		{"messages_no_stop", 1, "role role token other finish done", EndingOpen, Usage{25, 7, 0}},
		{"messages_cut", 1, "role role token", EndingOpen, Usage{}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			stream := golden(t, tt.file)
			for _, size := range []int{len(stream), 1, 2, 7, 100} {
				w := NewWalker(endpointOfFile(tt.file), tt.choices, false)
				words, joined, rest := walkAll(w, stream, size)
				if got := strings.Join(words, " "); got != tt.events {
					t.Errorf("in pieces of %d: got events\n%s, want\n%s", size, got, tt.events)
				}
				if !bytes.Equal(append(joined, rest...), stream) {
					t.Errorf("in pieces of %d: the events don't add up to the stream", size)
				}
				usage, has := w.Usage()
				if w.Ending() != tt.ending || has && usage != tt.usage || has != (tt.usage != Usage{}) {
					t.Errorf("in pieces of %d: got %v, %v %v; want %v, %v", size, w.Ending(), usage, has, tt.ending, tt.usage)
				}
			}
		})
	}
}

func golden(t testing.TB, file string) []byte {
	t.Helper()
	stream, err := os.ReadFile(filepath.Join("testdata", "events", file+".sse"))
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func endpointOfFile(file string) Endpoint {
	name, _, _ := strings.Cut(file, "_")
	return map[string]Endpoint{"chat": Chat, "completions": Completions, "responses": Responses, "messages": Messages}[name]
}

// What a client sees must be what it would see without a gateway in between: the
// usage event goes only where the gateway alone asked for it.
func TestWalkStripsOnlyTheInjectedUsage(t *testing.T) {
	f := func(file string, strip bool, want string) {
		t.Helper()
		words, _, _ := walkAll(NewWalker(endpointOfFile(file), 1, strip), golden(t, file), 64)
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%s, strip %v: got %s, want %s", file, strip, got, want)
		}
	}
	f("chat", true, "role token token finish+ usage- done")                          // no stream_options, null, or include_usage: false
	f("chat", false, "role token token finish+ usage done")                          // include_usage: true
	f("chat_continuous_usage", false, "role token finish+ usage done")               // and continuous_usage_stats
	f("chat_no_usage", true, "role token finish+ done")                              // the replica didn't do as asked
	f("completions", true, "token token finish+ usage- done")                        //
	f("chat_unreadable", true, "role other other other other other finish+ done")    // no choices and no usage either
	f("responses", true, "role role role role token token other other other finish") // usage rides on the closing event
}

func TestWalkOneEvent(t *testing.T) {
	f := func(e Endpoint, stream, want string, ending Ending) {
		t.Helper()
		w := NewWalker(e, 0, true)
		words, _, _ := walkAll(w, []byte(stream), len(stream))
		if got := strings.Join(words, " "); got != want || w.Ending() != ending {
			t.Errorf("%s: got %s, %v; want %s, %v", stream, got, w.Ending(), want, ending)
		}
	}
	f(Chat, "data:[DONE]\n\n", "done", EndingOpen)
	f(Chat, "data: [DONE] \r\n\r\n", "done", EndingOpen)
	f(Chat, "data\n\n", "comment", EndingOpen)
	f(Chat, "event: error\ndata: out of memory\n\n", "error", EndingError)
	f(Chat, "event: error\n\n", "comment", EndingOpen)
	f(Chat, `data: {"error":"out of memory"}`+"\n\n", "error", EndingError)
	f(Chat, `data: {"error":null,"choices":[]}`+"\n\n", "other", EndingOpen)
	f(Chat, `data: {"object":"error","message":"no"}`+"\n\n", "error", EndingError)
	f(Chat, `data: {"choices":[{"delta":{"content":null,"tool_calls":[]},"finish_reason":null}]}`+"\n\n", "role", EndingOpen)
	f(Chat, `data: {"choices":[{"delta":{"content":"a"},"finish_reason":""}]}`+"\n\n", "token", EndingOpen)
	f(Chat, `data: {"choices":[{"delta":{"refusal":"no"}}]}`+"\n\n", "token", EndingOpen)
	f(Chat, `data: {"choices":[{"delta":{"audio":{"data":"AA=="}}}]}`+"\n\n", "token", EndingOpen)
	f(Chat, `data: {"choices":[{"delta":{"function_call":{"name":"f"}}}]}`+"\n\n", "token", EndingOpen)
	f(Chat, `data: {"choices":[{"finish_reason":"stop"},{"finish_reason":"stop"}]}`+"\n\n", "finish", EndingComplete)
	f(Chat, `data: {"choices":[{"index":1,"finish_reason":"stop"}]}`+"\n\n", "finish", EndingOpen)
	f(Chat, `data: {"choices":[{"index":99999999,"finish_reason":"stop"}]}`+"\n\n", "finish", EndingOpen)
	f(Chat, `data: {"choices":[{"index":0,"finish_reason":"stop"}]`+"\n\n", "other", EndingOpen)
	f(Chat, `data: {"choices":[{"index":0,"finish_reason":"repetition"}]}`+"\n\n", "finish", EndingComplete)
	f(Chat, `data: {"usage":{"prompt_tokens":1},"choices":[]}`+"\n\n", "usage-", EndingOpen)
	f(Responses, "event: response.completed\ndata: {}\n\n", "finish", EndingComplete)
	f(Responses, `data: {"response":{"status":"failed"},"type":"response.completed"}`+"\n\n", "finish", EndingFailed)
	f(Responses, `data: {"delta":"","type":"response.output_text.delta"}`+"\n\n", "role", EndingOpen)
	f(Responses, `data: {"delta":"x","type":"response.reasoning_text.delta"}`+"\n\n", "token", EndingOpen)
	f(Responses, `data: {"error":{"message":"no"}}`+"\n\n", "error", EndingError)
	f(Messages, `data: {"type":"message_stop"}`+"\n\n", "finish", EndingAborted)
	f(Messages, `data: {"type":"error","error":{"type":"overloaded_error","message":"no"}}`+"\n\n", "error", EndingError)
	f(Extra, "data: what it likes\n\n", "other", EndingComplete)
	f(Extra, `data: {"error":{"message":"no"}}`+"\n\n", "error", EndingError)
}

// Anthropic counts cached prompt tokens beside the others, and the prompt only at
// the start.
func TestWalkMessagesUsage(t *testing.T) {
	w := NewWalker(Messages, 1, false)
	start := `data: {"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":20,"cache_creation_input_tokens":null,"output_tokens":1}}}` + "\n\n"
	w.Next([]byte(start))
	if usage, has := w.Usage(); has {
		t.Errorf("after message_start: got %v, want none yet", usage)
	}
	w.Next([]byte(`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}` + "\n\n"))
	if usage, has := w.Usage(); !has || usage != (Usage{PromptTokens: 25, CompletionTokens: 7, CachedTokens: 20}) {
		t.Errorf("got %v %v", usage, has)
	}
}

// An event that begins and ends like the one before may still say more in between.
func TestWalkIsNotFooledByShape(t *testing.T) {
	f := func(text, want string, ending Ending) {
		t.Helper()
		event := func(text string) string { return `data: {"choices":[{"index":0,"text":"` + text + `"}]}` + "\n\n" }
		w := NewWalker(Completions, 1, false)
		words, _, _ := walkAll(w, []byte(event("a")+event(text)), 1000)
		if got := strings.Join(words, " "); got != "token "+want || w.Ending() != ending {
			t.Errorf("%s: got %s, %v; want %s, %v", text, got, w.Ending(), want, ending)
		}
	}
	f(`b`, "token", EndingOpen)
	f(`ü \" \\`, "token", EndingOpen)
	f(``, "role", EndingOpen)
	f(`b","finish_reason":"stop","x":"y`, "finish+", EndingComplete)
	f(`b"},{"text":"c`, "token", EndingOpen)
	f(`b\`, "other", EndingOpen)
	f(`\x`, "other", EndingOpen)
	f("\t", "other", EndingOpen)
	f("\xff", "other", EndingOpen)
}

func TestWalkerNumbersItsErrorEvent(t *testing.T) {
	w := NewWalker(Responses, 1, false)
	walkAll(w, golden(t, "responses_cut"), 64)
	got := string(w.AppendErrorEvent(nil, APIError{Status: 502, Message: "The replica was lost."}))
	want := "event: error\ndata: " + `{"type":"error","code":"server_error","message":"The replica was lost.","param":null,"sequence_number":8}` + "\n\n"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWalkDoesNotAllocate(t *testing.T) {
	for _, file := range []string{"chat", "completions", "responses", "messages"} {
		stream := golden(t, file)
		w := NewWalker(endpointOfFile(file), 1, true)
		walk := func() {
			for buf := stream; len(buf) > 0; {
				buf = buf[len(w.Next(buf).Raw):]
			}
		}
		if got := testing.AllocsPerRun(10, walk); got != 0 {
			t.Errorf("%s: got %v allocations a stream, want 0", file, got)
		}
	}
}

package openai

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAppendError(t *testing.T) {
	f := func(e Endpoint, err APIError, want string) {
		t.Helper()
		if got := string(AppendError([]byte("x"), e, err)); got != "x"+want {
			t.Errorf("%v: got %s, want %s", e, got, want)
		}
	}
	full := APIError{Status: 429, Code: "queue_full", Param: "model", Message: "Line\n\"two\" <&> \xff"}
	f(Chat, full, `{"error":{"message":"Line\n\"two\" <&> `+"\ufffd"+`","type":"rate_limit_error","param":"model","code":"queue_full"}}`)
	f(NoEndpoint, APIError{Status: 404, Message: "m"}, `{"error":{"message":"m","type":"invalid_request_error","param":null,"code":null}}`)
	f(Rerank, APIError{Status: 503, Message: "m"}, `{"error":{"message":"m","type":"server_error","param":null,"code":null}}`)
	f(Completions, TooLong("m"), `{"error":{"message":"m","type":"BadRequestError","param":"input_tokens","code":"context_length_exceeded"}}`)
	f(Messages, TooLong("m"), `{"type":"error","error":{"type":"invalid_request_error","message":"m"}}`)
	f(CountTokens, full, `{"type":"error","error":{"type":"rate_limit_error","message":"Line\n\"two\" <&> `+"\ufffd"+`"}}`)
}

func TestErrorTypes(t *testing.T) {
	for _, tt := range []struct {
		status            int
		openAI, anthropic string
	}{
		{400, "invalid_request_error", "invalid_request_error"},
		{401, "authentication_error", "authentication_error"},
		{403, "permission_error", "permission_error"},
		{404, "invalid_request_error", "not_found_error"},
		{413, "invalid_request_error", "request_too_large"},
		{415, "invalid_request_error", "invalid_request_error"},
		{429, "rate_limit_error", "rate_limit_error"},
		{500, "server_error", "api_error"},
		{502, "server_error", "api_error"},
		{503, "server_error", "overloaded_error"},
		{504, "server_error", "api_error"},
	} {
		openAI, anthropic := openAIType(APIError{Status: tt.status}), anthropicType(tt.status)
		if openAI != tt.openAI || anthropic != tt.anthropic {
			t.Errorf("%d: got %s and %s, want %s and %s", tt.status, openAI, anthropic, tt.openAI, tt.anthropic)
		}
	}
}

func TestAppendErrorEvent(t *testing.T) {
	f := func(e Endpoint, want string) {
		t.Helper()
		err := APIError{Status: 502, Code: "truncated", Message: "a\n\nb"}
		got := string(AppendErrorEvent(nil, e, err))
		if got != want {
			t.Errorf("%v: got %s, want %s", e, got, want)
		}
		w := NewWalker(e, 1, false)
		if ev := w.Next([]byte(got)); ev.Kind != EventError || len(ev.Raw) != len(got) || w.Ending() != EndingError {
			t.Errorf("%v: the walker takes it for %v, %v", e, kindNames[ev.Kind], w.Ending())
		} else if read, ok := ReadError(ev.Data); !ok || read.Message != err.Message {
			t.Errorf("%v: got %+v %v from reading it back", e, read, ok)
		}
	}
	f(Chat, `data: {"error":{"message":"a\n\nb","type":"server_error","param":null,"code":"truncated"}}`+"\n\n")
	f(Completions, `data: {"error":{"message":"a\n\nb","type":"server_error","param":null,"code":"truncated"}}`+"\n\n")
	f(Responses, "event: error\ndata: "+`{"type":"error","code":"truncated","message":"a\n\nb","param":null}`+"\n\n")
	f(Messages, "event: error\ndata: "+`{"type":"error","error":{"type":"api_error","message":"a\n\nb"}}`+"\n\n")
}

func TestReadError(t *testing.T) {
	f := func(body string, want APIError, wantOK bool) {
		t.Helper()
		if got, ok := ReadError([]byte(body)); got != want || ok != wantOK {
			t.Errorf("%s: got %+v %v, want %+v %v", body, got, ok, want, wantOK)
		}
	}
	vllm := APIError{Status: 404, Type: "NotFoundError", Param: "model", Message: "The model `x` does not exist."}
	f("{\"error\":{\"message\":\"The model `x` does not exist.\",\"type\":\"NotFoundError\",\"param\":\"model\",\"code\":404}}", vllm, true)
	f("{\"object\":\"error\",\"message\":\"The model `x` does not exist.\",\"type\":\"NotFoundError\",\"param\":\"model\",\"code\":404}", vllm, true)
	f(`{"error":{"message":"m","type":"t","param":null,"code":null}}`, APIError{Type: "t", Message: "m"}, true)
	f(`{"error":{"message":"m","code":"rate_limit_exceeded"}}`, APIError{Code: "rate_limit_exceeded", Message: "m"}, true)
	f(`{"error":"m \u00fc"}`, APIError{Message: "m ü"}, true)
	f(`{"error":{"message":{"deep":1}}}`, APIError{Message: `{"deep":1}`}, true)
	f(`{"type":"error","error":{"type":"overloaded_error","message":"m"}}`, APIError{Type: "overloaded_error", Message: "m"}, true)
	f(`{"type":"error","code":"server_error","message":"m","param":"p","sequence_number":3}`, APIError{Code: "server_error", Param: "p", Message: "m"}, true)
	f(`{"type":"response.failed","response":{"object":"response","error":{"code":"server_error","message":"m"}}}`, APIError{Code: "server_error", Message: "m"}, true)
	f(`{"type":"response.completed","response":{"error":null}}`, APIError{}, false)
	f(`{"response":"x","object":3}`, APIError{}, false)
	f(`{"error":null,"choices":[]}`, APIError{}, false)
	f(`<html>502</html>`, APIError{}, false)
	f(``, APIError{}, false)
}

// An error of ours is JSON whatever it quotes, and never breaks its event.
func FuzzAppendError(f *testing.F) {
	f.Add("m", "p", 400, uint8(Chat))
	f.Add("\n\n\"\\\u2028\xff\x00", "a\r\nb", 503, uint8(Messages))
	f.Fuzz(func(t *testing.T, message, param string, status int, e uint8) {
		err := APIError{Status: status, Param: param, Message: message}
		if body := AppendError(nil, Endpoint(e), err); !json.Valid(body) {
			t.Errorf("not JSON: %q", body)
		}
		event := string(AppendErrorEvent(nil, Endpoint(e), err))
		if strings.Index(event, "\n\n") != len(event)-2 || strings.Contains(event, "\r") {
			t.Errorf("not one event: %q", event)
		}
	})
}

// FuzzReadError: whatever a replica sends, ReadError returns, and reads the errors
// of the gateway as they were meant.
func FuzzReadError(f *testing.F) {
	f.Add(`{"error":{"message":"m","type":"t","param":null,"code":404}}`)
	f.Add(`{"object":"error","message":"m"}`)
	f.Add(`{"response":{"error":{}}}`)
	f.Fuzz(func(t *testing.T, body string) {
		err, ok := ReadError([]byte(body))
		if !ok {
			return
		}
		back, ok := ReadError(AppendError(nil, Chat, err))
		if !ok || back.Message != string([]rune(err.Message)) {
			t.Errorf("%s: got %+v, read back as %+v %v", body, err, back, ok)
		}
	})
}

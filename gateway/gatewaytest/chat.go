package gatewaytest

import "fmt"

// The events of a chat stream as vLLM writes them, for choice 0 of the request
// "chatcmpl-1". Each is one whole event; frame it with Chunk or Chunks.
const (
	// Role comes first, when prefill is done; it bears no token.
	Role = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"prompt_token_ids":null}` + "\n\n"
	// Done is the last event, of good and bad streams alike.
	Done = "data: [DONE]\n\n"
)

// Content is a chat event that bears text.
func Content(text string) string { return choiceEvent(text, "null") }

// Finish is the last content event: text, possibly empty, and the finish reason.
func Finish(text, reason string) string { return choiceEvent(text, quote(reason)) }

func choiceEvent(text, reason string) string {
	stop := ""
	if reason != "null" {
		stop = `"stop_reason":null,`
	}
	return Data(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"m","choices":[{"index":0,"delta":{"content":` +
		quote(text) + `},"logprobs":null,"finish_reason":` + reason + `,` + stop + `"token_ids":null}]}`)
}

// Usage is the event that a stream carries before Done when it was asked for usage.
func Usage(prompt, completion int) string {
	return Data(fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"m","choices":[],"usage":{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d}}`,
		prompt, prompt+completion, completion))
}

// ErrorEvent is the event with which vLLM breaks a stream under status 200.
func ErrorEvent(status int, kind, message string) string {
	return Data(errorBody(status, kind, message))
}

// ChatEvents are the events of a whole chat stream that says the tokens one by
// one and ends with the reason "stop".
func ChatEvents(tokens ...string) []string {
	events := []string{Role}
	for i, token := range tokens {
		if i < len(tokens)-1 {
			events = append(events, Content(token))
		}
	}
	last := ""
	if len(tokens) > 0 {
		last = tokens[len(tokens)-1]
	}
	return append(events, Finish(last, "stop"), Done)
}

// ChatStream is a whole, good, chunked chat stream of the tokens, an event per write.
func ChatStream(tokens ...string) Script {
	return Script{Send(SSEHead), Chunks(ChatEvents(tokens...)...), Send(FinalChunk)}
}

// ChatAnswer is a whole chat answer that isn't streamed.
func ChatAnswer(text, reason string, prompt, completion int) string {
	return JSON(200, fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion","created":1760000000,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%s,"tool_calls":[]},"logprobs":null,"finish_reason":%s,"stop_reason":null}],"usage":{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d}}`,
		quote(text), quote(reason), prompt, prompt+completion, completion))
}

// ChatBody is a small chat request for the model, streamed or not.
func ChatBody(model, text string, stream bool) string {
	return fmt.Sprintf(`{"model":%s,"messages":[{"role":"user","content":%s}],"stream":%t}`, quote(model), quote(text), stream)
}

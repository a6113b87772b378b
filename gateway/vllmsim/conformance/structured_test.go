package conformance

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// flagSchema is small enough for a model of random weights to fill.
const flagSchema = `{"type":"object","properties":{"flag":{"type":"boolean"}},"required":["flag"],"additionalProperties":false}`

// isFlag checks a text against flagSchema.
func isFlag(t *testing.T, text string) {
	t.Helper()
	var v map[string]any
	err := json.Unmarshal([]byte(text), &v)
	if _, is := v["flag"].(bool); err != nil || !is || len(v) != 1 {
		t.Errorf("got %q (%v), want what satisfies %s", text, err, flagSchema)
	}
}

// askForm asks a chat for an answer of a form.
const askForm = `{"model":MODEL,"messages":[{"role":"user","content":"hello world"}],"max_tokens":900`

var structuredChecks = []check{
	{"an answer of a schema", "response_format json_schema gives JSON that satisfies it, and stops", func(t *testing.T, s *server) {
		body := askForm + `,"response_format":{"type":"json_schema","json_schema":{"name":"flag","schema":` + flagSchema + `}}`
		got := decode[chunk](t, s.post(t, "/v1/chat/completions", body+`}`))
		isFlag(t, got.Choices[0].Message.Content)
		if *got.Choices[0].Finish != "stop" {
			t.Errorf("got finish reason %s", *got.Choices[0].Finish)
		}
		text := ""
		events := s.events(t, "/v1/chat/completions", body+`,"stream":true}`)
		for _, e := range events[:len(events)-1] {
			for _, c := range chunkOf(t, e.Data()).Choices {
				text += c.Delta.Content
			}
		}
		isFlag(t, text)
	}},
	{"completions of a schema", "response_format works for completions as well", func(t *testing.T, s *server) {
		got := decode[chunk](t, s.post(t, "/v1/completions", `{"model":MODEL,"prompt":"hello","max_tokens":900,"response_format":{"type":"json_schema","json_schema":{"name":"flag","schema":`+flagSchema+`}}}`))
		isFlag(t, got.Choices[0].Text)
	}},
	{"an answer of an expression", "structured_outputs.regex gives a text that matches from end to end", func(t *testing.T, s *server) {
		const expr = `[a-f]{3}-[0-9]{2,4}(x|yy)`
		got := decode[chunk](t, s.post(t, "/v1/chat/completions", askForm+fmt.Sprintf(`,"structured_outputs":{"regex":%q},"guided_regex":%q}`, expr, expr)))
		if text := got.Choices[0].Message.Content; !regexp.MustCompile("^"+expr+"$").MatchString(text) || *got.Choices[0].Finish != "stop" {
			t.Errorf("got %q, %s", text, *got.Choices[0].Finish)
		}
	}},
	{"a JSON object", "response_format json_object begins an object, and is cut by the bound like any answer", func(t *testing.T, s *server) {
		got := decode[chunk](t, s.post(t, "/v1/chat/completions", strings.Replace(askForm, "900", "2", 1)+`,"response_format":{"type":"json_object"}}`))
		if text := got.Choices[0].Message.Content; !strings.HasPrefix(text, "{") || *got.Choices[0].Finish != "length" {
			t.Errorf("got %q, %s", text, *got.Choices[0].Finish)
		}
	}},
	{"a text", "response_format text asks for nothing", func(t *testing.T, s *server) {
		if got := s.post(t, "/v1/chat/completions", strings.Replace(askForm, "900", "2", 1)+`,"response_format":{"type":"text"}}`); got.Status != 200 {
			t.Errorf("got status %d, %s", got.Status, got.Body)
		}
	}},
	{"a response of a schema", "text.format json_schema; the response repeats it", func(t *testing.T, s *server) {
		got := s.post(t, "/v1/responses", `{"model":MODEL,"input":"hello","max_output_tokens":900,"text":{"format":{"type":"json_schema","name":"flag","schema":`+flagSchema+`}}}`)
		isFlag(t, decode[response](t, got).Output[0].Content[0].Text)
		if want := `"text":{"format":{"name":"flag","schema":` + flagSchema + `,"type":"json_schema","description":null,"strict":null},"verbosity":null}`; !strings.Contains(string(got.Body), want) {
			t.Errorf("got %s, want %s in it", got.Body, want)
		}
	}},
	{"a message of a schema", "output_config.format json_schema", func(t *testing.T, s *server) {
		got := decode[message](t, s.post(t, "/v1/messages", askForm+`,"output_config":{"format":{"type":"json_schema","schema":`+flagSchema+`}}}`))
		isFlag(t, got.Content[0].Text)
		if got.Stop != "end_turn" {
			t.Errorf("got stop reason %s", got.Stop)
		}
	}},
	{"forms that can't be", "400; what only the engine finds out is an error event when the answer is streamed, after a 200", func(t *testing.T, s *server) {
		f := func(form, want string) {
			t.Helper()
			body := strings.Replace(askForm, "900", "9", 1) + `,"structured_outputs":` + form
			s.matches(t, string(s.post(t, "/v1/chat/completions", body+`}`).Body), `{"error":{"message":"`+want+`«any»","type":"BadRequestError","param":null,"code":400}}`)
		}
		f(`{"regex":"a("}`, "Grammar error: ")
		f(`{"regex":"a(?=b)"}`, "Grammar error: ")
		f(`{"json":{"type":"nosuch"}}`, "Grammar error: Invalid type: nosuch")
		f(`{"json":{"$ref":"#/$defs/no"}}`, "Grammar error: Pointer '/$defs/no' does not exist")
		f(`{"json":{"type":"integer","minimum":5,"maximum":1}}`, "Grammar error: Unsatisfiable schema: minimum (5) is greater than maximum (1)")
		f(`{"json":"{"}`, "Invalid JSON grammar specification.")
		f(`{"json":""}`, "structured_outputs.json cannot be an empty string")
		f(`{"grammar":"root ::= ("}`, "Invalid grammar specification")
		f(`{"choice":[]}`, "Choice '[]' cannot be an empty list")
		f(`{"json_object":false}`, "structured_outputs.json_object must be True if set")
		f(`{}`, "You must use one kind of structured outputs constraint but none are specified: {'json': None, ")
		f(`{"json":{},"regex":"a"}`, "You can only use one kind of constraints for structured outputs ('json', 'regex' or 'choice').")
		events := s.events(t, "/v1/chat/completions", askForm+`,"structured_outputs":{"json":{"type":"nosuch"}},"stream":true}`)
		s.sequence(t, events, `data: {"error": {"message": "Grammar error: Invalid type: nosuch", "type": "BadRequestError", "param": null, "code": 400}}`+"\n\n", "", done)
	}},
	{"response formats that can't be", "400 of the form of the body", func(t *testing.T, s *server) {
		f := func(format, want string) {
			t.Helper()
			s.matches(t, string(s.post(t, "/v1/chat/completions", askForm+`,"response_format":`+format+`}`).Body), want)
		}
		f(`{"type":"json_schema"}`, `{"error":{"message":"When response_format type is 'json_schema', the 'json_schema' field must be provided. (parameter=response_format)","type":"BadRequestError","param":"response_format","code":400}}`)
		f(`{"type":"nosuch"}`, `{"error":{"message":«s»,"type":"Bad Request","param":"body.response_format.type","code":400}}`)
		f(`{"type":"json_schema","json_schema":{"name":"x"}}`, `{"error":{"message":"You must use one kind of structured outputs constraint but none are specified«any»","type":"BadRequestError","param":null,"code":400}}`)
	}},
}

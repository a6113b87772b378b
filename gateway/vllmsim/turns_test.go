package vllmsim

import (
	"strings"
	"testing"
)

func TestConversationsThatAreTaken(t *testing.T) {
	f := func(messages string, taken bool) {
		t.Helper()
		if _, err := chatPrompt([]byte(messages)); (err == nil) != taken || err != nil && !strings.Contains(err.Error(), "must alternate") {
			t.Errorf("%s: got %v, want taken: %v", messages, err, taken)
		}
	}
	const (
		user      = `{"role":"user","content":"a"}`
		assistant = `{"role":"assistant","content":"b"}`
		calls     = `{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]}`
		result    = `{"role":"tool","tool_call_id":"c","content":"d"}`
		use       = `{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]}`
		results   = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"d"}]}`
		item      = `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`
		output    = `{"type":"function_call_output","call_id":"c","output":"d"}`
	)
	turns := func(all ...string) string { return "[" + strings.Join(all, ",") + "]" }
	f(turns(user), true)
	f(turns(`{"role":"system","content":"s"}`, user, assistant, user), true)
	f(turns(user, user), false)
	f(turns(assistant), false)
	f(turns(user, calls, result), true)
	f(turns(user, calls, result, result, assistant, user), true)
	f(turns(user, calls, result, calls, result), true)
	f(turns(user, calls, user), true) // as the template that Gemma 3 ships takes it
	f(turns(user, use, results), true)
	f(turns(user, use, results, assistant, user), true)
	f(turns(user, item, item, output, output), true)
	f(turns(user, item, output, assistant, assistant), false)
}

// A tool is called when the user hints at it, and never after it has answered.
func TestWhenToolsAreCalled(t *testing.T) {
	f := func(hint string, least, most int) {
		t.Helper()
		box := &toolbox{tools: []tool{{name: "get_weather"}, {name: "set"}}, choice: "auto", hint: hint}
		if err := box.prepare(); err != nil {
			t.Fatal(err)
		}
		called := 0
		for seed := range uint64(100) {
			if box.script(seed, 100) != nil {
				called++
			}
		}
		if called < least || called > most {
			t.Errorf("%q: called %d times of 100, want %d to %d", hint, called, least, most)
		}
	}
	f("get weather, please ", 100, 100)
	f("use a tool ", 100, 100)
	f("hello ", 10, 40)
	f("", 0, 0)
}

// Where a call isn't forced, a tool whose schema can't be read is left alone.
func TestToolsThatCannotBeCalled(t *testing.T) {
	f := func(box toolbox, want string) {
		t.Helper()
		box.tools = []tool{{name: "bad", parameters: []byte(`{"type":"nosuch"}`)}, {name: "good"}}
		err := box.prepare()
		if got := map[bool]string{true: "none"}[err == nil]; err != nil && err.message != want || err == nil && got != want {
			t.Errorf("%+v: got %v, want %s", box, err, want)
		}
	}
	f(toolbox{choice: "auto", hint: "bad "}, "none")
	f(toolbox{choice: "none"}, "none")
	f(toolbox{choice: "required"}, "Grammar error: Invalid type: nosuch")
	f(toolbox{named: "bad"}, "Grammar error: Invalid type: nosuch")
	f(toolbox{named: "good"}, "none")
}

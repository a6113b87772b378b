package tokens

import (
	"slices"
	"strings"
	"testing"

	"sluice/gateway/tokens/tokenstest"
)

func turn(role string, parts ...string) Turn {
	t := Turn{Role: []byte(role)}
	for _, p := range parts {
		t.Parts = append(t.Parts, []byte(p))
	}
	return t
}

func TestAppendChat(t *testing.T) {
	f := func(c Chat, want string) {
		t.Helper()
		if got := string(AppendChat(nil, &c)); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	f(Chat{}, "<bos><start_of_turn>model\n")
	f(Chat{Turns: []Turn{turn("user", "Hi")}}, "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n")
	f(Chat{System: []byte(" Be brief.\n"), HasSystem: true, Turns: []Turn{turn("user", " \u00a0Hi\x1c\n")}},
		"<bos><start_of_turn>user\n Be brief.\n\n\nHi<end_of_turn>\n<start_of_turn>model\n")
	f(Chat{HasSystem: true, Turns: []Turn{turn("user", "a "), turn("assistant", "b"), turn("user", " c ", " d")}},
		"<bos><start_of_turn>user\n\n\na<end_of_turn>\n<start_of_turn>model\nb<end_of_turn>\n<start_of_turn>user\ncd<end_of_turn>\n<start_of_turn>model\n")
	f(Chat{Turns: []Turn{turn("user", "a"), turn("tool", "b")}},
		"<bos><start_of_turn>user\na<end_of_turn>\n<start_of_turn>tool\nb<end_of_turn>\n<start_of_turn>model\n")
}

func TestAlternates(t *testing.T) {
	f := func(roles string, want bool) {
		t.Helper()
		var c Chat
		for role := range strings.FieldsSeq(roles) {
			c.Turns = append(c.Turns, turn(role))
		}
		if got := c.Alternates(); got != want {
			t.Errorf("%q: got %v", roles, got)
		}
	}
	f("", true)
	f("user", true)
	f("user assistant user", true)
	f("user tool user", true)
	f("user user", false)
	f("assistant", false)
	f("user assistant tool", false)
}

// TestFrameOfAChat counts what the template adds, when "user" and "model" are pieces.
func TestFrameOfAChat(t *testing.T) {
	s := tokenstest.Small()
	for _, word := range []string{"user", "model"} {
		for i := 1; i < len(word); i++ {
			s.Merges = slices.Insert(s.Merges, 0, [2]string{word[:i], word[i : i+1]})
		}
	}
	tok, err := read(strings.NewReader(string(s.JSON())), 0)
	if err != nil {
		t.Fatal(err)
	}
	f := func(c Chat, text string, frame int) {
		t.Helper()
		if got, want := tok.Count(AppendChat(nil, &c)), tok.Count([]byte(text))+frame; got != want {
			t.Errorf("%d turns: got %d tokens, want %d", len(c.Turns), got, want)
		}
	}
	f(Chat{Turns: []Turn{turn("user", "x")}}, "x", 9)
	f(Chat{Turns: []Turn{turn("user", "x"), turn("assistant", "y"), turn("user", "z")}}, "xyz", 19)
	f(Chat{System: []byte("s"), HasSystem: true, Turns: []Turn{turn("user", "x")}}, "sx", 10)
}

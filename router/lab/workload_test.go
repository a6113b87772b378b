package lab

import (
	"strings"
	"testing"
)

func TestWorkloadsThatMakeNoSense(t *testing.T) {
	f := func(change, want string) {
		t.Helper()
		const sound = "kinds: [{class: decode, share: 1, prompt: {median: 500}, answer: {median: 100}, ttft: 2s}]\n"
		if _, err := ParseWorkload("own", []byte(sound)); err != nil {
			t.Fatal(err)
		}
		old, new, found := strings.Cut(change, " → ")
		if !found {
			old, new = "", change
		}
		text := strings.Replace(sound, old, new, 1)
		if _, err := ParseWorkload("own", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	f("class: decode → class: other", `kinds[0].class: is "other", want prefill or decode`)
	f("share: 1 → share: 0", "kinds[0].share: is 0, want more than 0; or a rate")
	f("ttft: 2s → priority: high", `kinds[0].priority: is "high", want batch or interactive, or nothing`)
	f("ttft: 2s → tpot: 2s", "kinds[0].ttft: is 0s, want more than 0")
	f("median: 500 → max: 500", "kinds[0]: prompt and answer need a median of at least 1")
	f("median: 100 → median: 100, spread: -1", "kinds[0]: a spread is below 0")
	f("ttft: 2s → ttft: 2s, prefix: {groups: -1}", "kinds[0].prefix: groups, tokens and turns can't be below 0")
	f("bursts: {ratio: 5}\n", "bursts: ratio is 5 and each is 0s")
	f("weights: {a: 0}\n", "weights.a: is 0, want more than 0")
	f("kind: []\n", "line 1: field kind not found")
	f("about: [\n", "yaml: ")
}

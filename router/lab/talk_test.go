package lab

import (
	"testing"

	"sluice/router"
)

// growing is chats of short answers whose prompts grow past the border of their
// class, beside classification.
const growing = `about: chats that grow
kinds:
  - {name: classify, class: prefill, share: 0.6, prompt: {median: 1000}, answer: {median: 10}, bound: 16, ttft: 2s, prefix: {groups: 12, tokens: 4000}}
  - {name: chat, class: decode, share: 0.4, prompt: {median: 600, spread: 0.5}, answer: {median: 200, spread: 0.5}, ttft: 2s, tpot: 50ms, prefix: {tokens: 600, turns: 16}}
`

// TestConversationsKeepTheirClass: hardly a turn has another class than the one
// before it, and chats that grow are served within their SLO.
func TestConversationsKeepTheirClass(t *testing.T) {
	grown, err := ParseWorkload("growing", []byte(growing))
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []*Workload{measured(named(t, "prefixes")), measured(grown)} {
		w := under(t, of.Runs(1)[0], nil)
		turns, changes := 0, 0
		last := map[uint64]router.Class{}
		for _, q := range w.requests {
			h, ok := q.own.(held)
			if !ok || q.turn == 0 {
				continue
			}
			if was, ok := last[q.prefix]; ok {
				turns++
				if was != h.grant.Class {
					changes++
				}
			}
			last[q.prefix] = h.grant.Class
		}
		chat := w.score(of).Classes["decode"]
		t.Logf("%s: %d of %d turns change their class; %.2f of %.2f chats a second are served in time", of.Name, changes, turns, chat.Good, chat.Offered)
		if turns < 500 || 200*changes > turns || chat.Good < 0.9*chat.Offered {
			t.Errorf("%s: %d of %d turns change their class; %.2f of %.2f chats a second are served in time", of.Name, changes, turns, chat.Good, chat.Offered)
		}
	}
}

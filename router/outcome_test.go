package router

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// What the table says must make sense, whichever rows it has.
func TestOutcomeTable(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range Outcomes() {
		refusal := o >= Invalid && o <= Draining
		switch {
		case o.String() == "" || seen[o.String()]:
			t.Errorf("outcome %d: label %q is empty or used twice", o, o)
		case refusal && (o.Blames() || o.MayRetry(true) || o.LeavesWork() || o.Status() < 400):
			t.Errorf("%s: a refusal never reached a replica and has a status", o)
		case o.MayRetry(false) && !o.MayRetry(true):
			t.Errorf("%s: the operator's leave takes one away", o)
		case o.MayRetry(false) && o.MayHaveRun():
			t.Errorf("%s: may have run, and is tried again without leave", o)
		case o.MayContinue() && (refusal || !o.Blames()):
			t.Errorf("%s: nobody failed, and yet another may go on", o)
		}
		seen[o.String()] = true
	}
	if seen[Undecided.String()] || len(seen) != int(outcomes)-1 {
		t.Errorf("%d outcomes are listed", len(seen))
	}
	for _, neutral := range []Outcome{Completed, Busy, ClientError, ClientGoneWaiting, ClientGoneStreaming} {
		if neutral.Blames() {
			t.Errorf("%s blames the replica", neutral)
		}
	}
}

func TestParseClass(t *testing.T) {
	for text, want := range map[string]Class{"prefill": Prefill, "decode": Decode, "other": ClassNone, "": ClassNone, "Prefill": ClassNone} {
		if got := ParseClass(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestStateAsJSON(t *testing.T) {
	r := testRouter(testConfig(total(1), total(1)))
	g := granted(t, r.Offer(at(0), chat()))
	queued(t, r.Offer(at(0), chat()))
	queued(t, r.Offer(at(1), chat()))
	granted(t, one(t, r.Release(at(2), g.Lease, Completed)))
	text, err := json.Marshal(r.State())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"w":24`, `"retries_left":3`, `"name":"fast"`, `"address":"f1"`, `"state":"ready"`, `"cap":1`, `"active":{"prefill":0,"decode":1}`,
		`"work":24500`, `"granted":2`, `{"route":"gemma","class":"decode","priority":"interactive","waiting":1,"bytes":2000,"oldest":1000000000,"rate":0.5}`,
		`{"pool":"big","class":"prefill","tokens_out":300,"service":0}`,
	} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s\nlacks %s", text, part)
		}
	}
}

func TestExplain(t *testing.T) {
	for _, c := range []struct {
		grant Grant
		want  string
	}{
		{
			Grant{Replica: "b1", Pool: "big", Class: Prefill, Why: ByBound, TokensIn: 4000, TokensOut: 10, Choices: 2},
			"class prefill by bound: 4000 tokens in, 10 out; pool big, choice 1 of 2; replica b1, least work: 0 tokens",
		},
		{
			Grant{Replica: "f1", Pool: "fast", Class: Prefill, Why: ByRatio, TokensIn: 4000, TokensOut: 100, W: 24, Choice: 1, Choices: 2, Work: 77,
				Waited: 1500 * time.Millisecond, Retried: true},
			"class prefill by ratio: 4000 tokens in, 100 out, in/out above w=24; pool fast, choice 2 of 2 (those before it had no room); " +
				"replica f1, least work: 77 tokens; waited 1.5s; second attempt",
		},
		{
			Grant{Replica: "f1", Pool: "fast", Class: Decode, Why: ByRatio, TokensIn: 500, TokensOut: 1000, W: 24, Choices: 1},
			"class decode by ratio: 500 tokens in, 1000 out, in/out not above w=24; pool fast, choice 1 of 1; replica f1, least work: 0 tokens",
		},
	} {
		if got := c.grant.Explain(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	for why := ByNothing; why <= ByRatio; why++ {
		if text, err := why.MarshalText(); err != nil || len(text) == 0 {
			t.Errorf("reason %d has no name", why)
		}
	}
}

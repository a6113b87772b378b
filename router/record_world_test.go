package router

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"sluice/config"
)

// explained offers a request and checks that the decision is what Explain said,
// and that saying it changed nothing.
func (w *world) explained(req Request) Decision {
	w.t.Helper()
	if w.mute {
		return w.r.Offer(w.now, req)
	}
	rec := w.r.Explain(w.now, req)
	d := w.r.Offer(w.now, req)
	w.checkRecord(&rec)
	w.checkSame(&rec, d)
	return d
}

// checkRecord: a record decides alone, read back from JSON too, and its numbers
// bear out what its candidates say.
func (w *world) checkRecord(rec *Record) {
	w.t.Helper()
	if got := Replay(rec); got != rec.Choice {
		w.t.Fatalf("replayed to %+v, decided %+v\n%s", got, rec.Choice, rec.Text())
	}
	for i := range rec.Candidates {
		c := &rec.Candidates[i]
		if !borneOut(c, max(rec.Request.Sequences, 1), rec.Class.Class) {
			w.t.Fatalf("%d sequences of %s: %+v", rec.Request.Sequences, rec.Class.Class, c)
		}
		w.verdicts[c.Verdict]++
	}
	if w.said++; w.said%32 > 0 {
		return // texts take their time
	}
	if short := rec.Compact(2048); rec.Words == "" || !ascii(short) || len(short) > 2048 || !json.Valid(short) {
		w.t.Fatalf("%q %s", rec.Words, short)
	}
}

// borneOut compares a verdict with the numbers beside it. They are rounded.
func borneOut(c *Candidate, needs int, class Class) bool {
	if class == Other {
		return c.Verdict == Undecidable || c.Verdict == NotUp == (c.State != Ready)
	}
	switch c.Verdict {
	case NotUp:
		return c.Room < needs && c.State != Ready && c.State != Trial
	case Full, Paused, Starting:
		return c.Room < needs
	case FirstTooLate, MissesSLO:
		return c.First >= c.FirstLimit
	case TokensTooSlow:
		return c.Token >= c.TokenLimit && c.TokenLimit > 0
	case Willing:
		return c.Room >= needs && (c.TokenLimit == 0 || c.Token <= c.TokenLimit) && (c.First <= c.FirstLimit || c.FirstLimit == 0 || c.BestEffort)
	}
	return true
}

// checkSame: what was decided is what the record says.
func (w *world) checkSame(rec *Record, d Decision) {
	w.t.Helper()
	same := false
	switch d := d.(type) {
	case Grant:
		best := rec.best()
		same = rec.Choice == Choice{Replica: d.Replica, Pool: d.Pool} && best.Work == d.Work && best.Choice == d.Choice+1 &&
			rec.Class.Class == d.Class && rec.Class.Why == d.Why && rec.Foreseen.TokensOut == d.TokensOut && rec.Foreseen.W == d.W
	case Queued:
		same = rec.Choice == Choice{Waits: true} && rec.Wait.Deadline.Equal(d.Deadline) && rec.Wait.Ahead == d.Ahead && rec.Class.Why == d.Why
	case *Refusal:
		want := Reason{Outcome: d.Outcome, Param: d.Param, Detail: d.Detail, RetryAfter: d.RetryAfter.Seconds()}
		same = rec.Choice == Choice{Refused: d.Outcome} && *rec.Refusal == want
	}
	if !same {
		w.t.Fatalf("%T %+v\n%s", d, d, rec.Text())
	}
}

// promise gives every route the world's SLO. One of them refuses what misses it.
func (w *world) promise(cfg *config.Config) {
	for name, rt := range cfg.Routes {
		rt.Prefill.SLO, rt.Decode.SLO = w.slo, w.slo
		if name == "spill" {
			rt.Prefill.OnSLOMiss, rt.Decode.OnSLOMiss = config.MissRefuse, config.MissRefuse
		}
		cfg.Routes[name] = rt
	}
}

// learn lets the router see a first token or an answer of a grant.
func (w *world) learn() {
	if len(w.grants) == 0 {
		return
	}
	g := w.grants[w.byte()%len(w.grants)]
	if g.Class == Other {
		return
	}
	if w.byte()%2 == 0 {
		w.settle(w.r.First(w.now, g.Lease))
		return
	}
	w.r.Learn(w.now, Answer{Lease: g.Lease, TokensOut: 1 + 4*w.byte(), Service: time.Duration(1+w.byte()) * 20 * time.Millisecond})
}

// TestRecordsWhereSLOsDecide is TestRandomEvents with promises to keep, which
// caps alone don't have.
func TestRecordsWhereSLOsDecide(t *testing.T) {
	var seen [len(verdictNames)]int
	for seed := range uint64(400) {
		w := newWorld(t, script(seed, 250))
		w.slo = config.SLO{TTFT: 400 * time.Millisecond, TTFTPer1K: 100 * time.Millisecond, TPOT: 28 * time.Millisecond}
		if seed%4 == 0 { // seldom kept
			w.slo.TTFT, w.slo.TTFTPer1K = 60*time.Millisecond, 0
		}
		w.promise(w.cfg)
		w.settle(w.r.ApplyConfig(w.now, w.cfg))
		for len(w.data) > 0 {
			w.step()
			w.learn()
			w.checkHeld()
		}
		for v, n := range w.verdicts {
			seen[v] += n
		}
	}
	for v := Undecidable; v <= Willing; v++ {
		if v != Tried && v != Starting && seen[v] == 0 { // the first isn't recorded, the caps are too low for the second
			t.Errorf("no candidate was %s: %v", v, seen)
		}
	}
}

// TestExplainingChangesNothing: with it and without it, the same is decided.
func TestExplainingChangesNothing(t *testing.T) {
	for seed := range uint64(50) {
		a, b := newWorld(t, script(seed, 300)), newWorld(t, script(seed, 300))
		b.mute = true
		a.play()
		b.play()
		if a.log.String() != b.log.String() || !reflect.DeepEqual(a.r.State(), b.r.State()) {
			t.Fatalf("seed %d: explained requests were decided differently", seed)
		}
	}
}

// TestRecordsSurviveJSON: a record that was stored replays to the same choice.
func TestRecordsSurviveJSON(t *testing.T) {
	w := newWorld(t, script(7, 400))
	for len(w.data) > 0 {
		w.step()
		for _, req := range []Request{chat(), label(), many(3), many(60), {Route: "gone"}} {
			before := w.r.State()
			rec := w.r.Explain(w.now, req)
			text, err := json.Marshal(rec)
			if err != nil {
				t.Fatal(err)
			}
			var back Record
			if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, rec) {
				t.Fatalf("error %v\n got %+v\nwant %+v", err, back, rec)
			}
			if got := Replay(&back); got != rec.Choice {
				t.Fatalf("replayed to %+v, decided %+v", got, rec.Choice)
			}
			if !reflect.DeepEqual(w.r.State(), before) {
				t.Fatal("explaining changed the router's state")
			}
		}
	}
}

func ascii(text []byte) bool {
	for _, b := range text {
		if b < ' ' || b > '~' {
			return false
		}
	}
	return true
}

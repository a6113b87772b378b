package router

import (
	"testing"
	"time"

	"sluice/config"
)

// lower is a chat of priority Batch.
func lower() Request {
	req := chat()
	req.Priority = Batch
	return req
}

func TestPriorityIsBelowTheTenantsCeiling(t *testing.T) {
	cfg := testConfig(total(9), total(9))
	cfg.Tenants["people"] = config.Tenant{Weight: 1, Priority: config.PriorityInteractive}
	cfg.Tenants["reports"] = config.Tenant{Weight: 1, Priority: config.PriorityBatch}
	r := testRouter(cfg)
	f := func(tenant string, asked, want Priority) {
		t.Helper()
		if got := r.priorityOf(&Request{Tenant: tenant, Priority: asked}); got != want {
			t.Errorf("tenant %q asks for %s and gets %s, want %s", tenant, asked, got, want)
		}
	}
	f("", PriorityNone, Interactive)
	f("", Interactive, Interactive)
	f("", Batch, Batch)
	f("people", PriorityNone, Interactive)
	f("people", Batch, Batch)
	f("reports", PriorityNone, Batch)
	f("reports", Interactive, Batch)
}

func TestParsePriority(t *testing.T) {
	f := func(in string, want Priority) {
		t.Helper()
		if got := ParsePriority(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
	f("interactive", Interactive)
	f("batch", Batch)
	f("", PriorityNone)
	f("Batch", PriorityNone)
	f("none", PriorityNone)
}

// Batch is served at once where there is room, and leaves an eighth of a cap.
func TestBatchLeavesRoom(t *testing.T) {
	r := testRouter(testConfig(total(1), total(16)))
	for range 14 {
		granted(t, r.Offer(at(0), lower()))
	}
	queued(t, r.Offer(at(0), lower()))
	granted(t, r.Offer(at(0), chat()))
	granted(t, r.Offer(at(0), chat()))
}

// Whoever isn't batch goes first, and for a while after one had to wait batch waits.
func TestBatchComesLast(t *testing.T) {
	r := testRouter(testConfig(total(1), total(1)))
	held := granted(t, r.Offer(at(0), chat()))
	batch := queued(t, r.Offer(at(0), lower()))
	urgent := queued(t, r.Offer(at(1), chat()))
	held = granted(t, one(t, r.Release(at(2), held.Lease, Completed)))
	if held.Ticket != urgent.Ticket {
		t.Fatalf("ticket %d was served, want %d", held.Ticket, urgent.Ticket)
	}
	none(t, r.Release(at(3), held.Lease, Completed))
	none(t, r.Tick(at(6.9)))
	if next := r.Next(); next.IsZero() || next.After(at(7)) {
		t.Fatalf("next tick at %s, want the end of the calm", next)
	}
	if g := granted(t, one(t, r.Tick(at(7)))); g.Ticket != batch.Ticket {
		t.Fatalf("ticket %d was served, want %d", g.Ticket, batch.Ticket)
	}
}

// Batch waits for its own limit, and is counted apart.
func TestBatchWaitsLonger(t *testing.T) {
	cfg := testConfig(total(1), total(1))
	rt := cfg.Routes["gemma"]
	rt.Decode.Queue.MaxWaiting, rt.Decode.Queue.BatchWait = 1, time.Hour
	cfg.Routes["gemma"] = rt
	r := testRouter(cfg)
	granted(t, r.Offer(at(0), chat()))
	if q := queued(t, r.Offer(at(0), lower())); !q.Deadline.Equal(at(3600)) {
		t.Errorf("waits until %s, want an hour", q.Deadline)
	}
	if q := queued(t, r.Offer(at(0), chat())); !q.Deadline.Equal(at(5)) {
		t.Errorf("waits until %s, want 5 s", q.Deadline)
	}
	refused(t, r.Offer(at(0), lower()), QueueFull)
	refused(t, r.Offer(at(0), chat()), QueueFull)
}

// A large batch request that small ones pass gets its turn.
func TestLargeBatchIsNotPassedForEver(t *testing.T) {
	r := testRouter(testConfig(total(1), total(4)))
	var held []Grant
	for range 4 {
		held = append(held, granted(t, r.Offer(at(0), lower())))
	}
	large := many(4)
	large.Priority = Batch
	ticket := queued(t, r.Offer(at(0), large)).Ticket
	for i := range 200 {
		now := at(float64(i))
		r.Offer(now, lower())
		for _, d := range r.Release(now, held[0].Lease, Completed) {
			g, ok := d.(Grant)
			if ok && g.Ticket == ticket {
				return
			}
			if ok {
				held = append(held, g)
			}
		}
		if held = held[1:]; len(held) == 0 {
			break
		}
	}
	t.Error("it was never served")
}

// idleBatch is a router of one replica, that has served nothing, and promises.
func idleBatch() *Router {
	r := New(at(0), promisedConfig(total(16), total(16)))
	r.SetFleet(at(0), ready("fast/f1"))
	return r
}

// Batch of any size is served where nothing else is.
func TestAnEmptyReplicaServesAnyBatch(t *testing.T) {
	f := func(tokensIn, tokensOut, sequences int, class Class) {
		t.Helper()
		req := Request{Route: "gemma", TokensIn: tokensIn, LongestIn: tokensIn, OutBound: tokensOut, Sequences: sequences, Class: class, Priority: Batch}
		granted(t, idleBatch().Offer(at(0), req))
	}
	f(500, 1000, 15, Decode) // of 16
	f(500, 1000, 16, Decode)
	f(30000, 10, 1, Prefill)
	f(30000, 1000, 1, Decode)
	f(4000, 2000, 1, Prefill)
}

// Summaries are many tokens in, and so many out that no prompt could wait for their
// end; but prompts don't.
func TestSummariesRunSideBySide(t *testing.T) {
	r := idleBatch()
	for range 4 {
		granted(t, r.Offer(at(0), Request{Route: "gemma", TokensIn: 4000, LongestIn: 4000, OutBound: 150, Sequences: 1, Priority: Batch}))
	}
}

package router

import (
	"fmt"
	"testing"

	"sluice/config"
)

// One replica of cap 4 is kept busy with single sequences while a request for
// all 4 waits at the head.
func TestAHeadIsPassedAtMostEightTimes(t *testing.T) {
	cfg := testConfig(total(4), total(4))
	rt := cfg.Routes["gemma"]
	rt.Decode.Queue.MaxWaiting = 100
	cfg.Routes["gemma"] = rt
	r := testRouter(cfg)
	var running []Grant
	for range 3 {
		running = append(running, granted(t, r.Offer(at(0), chat())))
	}
	head := queued(t, r.Offer(at(0), many(4)))
	for range 7 { // the first takes the free slot, the others wait behind the head
		if g, ok := r.Offer(at(0), chat()).(Grant); ok {
			running = append(running, g)
		}
	}
	passed := 1
	for served := false; !served; {
		oldest := running[0]
		running = running[1:]
		queuedOrNot := r.Offer(at(1), chat())
		if g, ok := queuedOrNot.(Grant); ok {
			running, passed = append(running, g), passed+1
		}
		for _, d := range r.Release(at(1), oldest.Lease, Completed) {
			g := granted(t, d)
			if served = g.Ticket == head.Ticket; !served {
				running, passed = append(running, g), passed+1
			}
		}
	}
	if passed != maxPassed {
		t.Fatalf("the head was passed %d times, want %d", passed, maxPassed)
	}
}

func TestHeldRoomIsGivenUpWithItsWaiter(t *testing.T) {
	r := testRouter(testConfig(total(4), total(4)))
	running := granted(t, r.Offer(at(0), chat()))
	head := queued(t, r.Offer(at(0), many(4)))
	for range maxPassed { // each takes room that the head could have used
		g := granted(t, r.Offer(at(0), chat()))
		none(t, r.Release(at(0), g.Lease, Completed))
	}
	behind := queued(t, r.Offer(at(0), chat()))
	g := granted(t, one(t, r.Cancel(at(1), head.Ticket)))
	if g.Ticket != behind.Ticket {
		t.Fatalf("got ticket %d, want %d", g.Ticket, behind.Ticket)
	}
	r.Release(at(2), running.Lease, Completed)
}

// A replica may go while room is held on it and nothing runs there: it has just
// said that it is busy.
func TestHeldRoomGoesWithItsReplica(t *testing.T) {
	r := testRouter(testConfig(total(4), total(4)))
	running := granted(t, r.Offer(at(0), chat()))
	head := queued(t, r.Offer(at(0), many(4)))
	for range maxPassed {
		g := granted(t, r.Offer(at(0), chat()))
		none(t, r.Release(at(0), g.Lease, Completed))
	}
	none(t, r.Release(at(0), running.Lease, Busy))
	if r.waiters[head.Ticket].hold == nil {
		t.Fatal("no room is held for the head")
	}
	none(t, r.SetFleet(at(0), []Replica{{Address: "f9", Pool: "fast", State: Warming}}))
	if rep := r.waiters[head.Ticket].hold; rep != nil {
		t.Fatalf("room is held on %s, which is gone", rep.address)
	}
}

// A head that its own class cap stops isn't passed by the other class, and
// held room leaves the other class what the head can't use.
func TestTheOtherClassDoesNotPassAHeadThatItsOwnCapStops(t *testing.T) {
	cfg := testConfig(config.Cap{}, config.Cap{Total: 20, Decode: 4})
	r := testRouter(cfg)
	granted(t, r.Offer(at(0), chat()))
	head := queued(t, r.Offer(at(0), many(4)))
	for range 12 {
		granted(t, r.Offer(at(0), label()))
	}
	if w := r.waiters[head.Ticket]; w.passed != 0 {
		t.Fatalf("passed %d times, want 0", w.passed)
	}
}

// Held room is the waiter's in the total and in its class, and no more.
func TestHeldRoomByClass(t *testing.T) {
	r := testRouter(testConfig(config.Cap{}, config.Cap{Total: 20, Decode: 4}))
	granted(t, r.Offer(at(0), chat()))
	queued(t, r.Offer(at(0), many(4)))
	for range maxPassed {
		g := granted(t, r.Offer(at(0), chat()))
		none(t, r.Release(at(0), g.Lease, Completed))
	}
	queued(t, r.Offer(at(0), chat())) // 1 of decode's 4 is taken, 4 are held
	for range 15 {                    // 20, less the 1 taken and the 4 held
		granted(t, r.Offer(at(0), label()))
	}
	queued(t, r.Offer(at(0), label()))
}

func TestOldestHeadFirstAcrossQueues(t *testing.T) {
	cfg := testConfig(total(1), total(1))
	cfg.Routes["second"] = cfg.Routes["gemma"]
	r := testRouter(cfg)
	g := granted(t, r.Offer(at(0), chat()))
	var want []Ticket
	for i := range 6 {
		req := chat()
		req.Route = []string{"second", "gemma", "gemma"}[i%3]
		want = append(want, queued(t, r.Offer(at(0), req)).Ticket)
	}
	for _, ticket := range want {
		g = granted(t, one(t, r.Release(at(1), g.Lease, Completed)))
		if g.Ticket != ticket {
			t.Fatalf("got ticket %d, want %d", g.Ticket, ticket)
		}
	}
}

// benchRouter has 16 replicas and takes any number of waiters.
func benchRouter(b *testing.B) *Router {
	b.Helper()
	cfg := testConfig(total(64), total(128))
	rt := cfg.Routes["gemma"]
	rt.Decode.Queue = config.Queue{MaxWaiting: 1000}
	rt.Decode.Pools = []config.Preference{{Pool: "fast"}, {Pool: "big"}}
	cfg.Routes["gemma"] = rt
	r := New(at(0), cfg)
	var names []string
	for i := range 8 {
		names = append(names, fmt.Sprintf("big/b%d", i), fmt.Sprintf("fast/f%d", i))
	}
	r.SetFleet(at(0), ready(names...))
	return r
}

// BenchmarkOfferRelease: one request granted and released, half the slots held.
func BenchmarkOfferRelease(b *testing.B) {
	r := benchRouter(b)
	for range 8 * (64 + 128) / 2 {
		r.Offer(at(0), chat())
	}
	b.ReportAllocs()
	for b.Loop() {
		g := r.Offer(at(1), chat()).(Grant)
		r.Release(at(1), g.Lease, Completed)
	}
}

// BenchmarkOfferReleaseFull: all slots held and 300 wait; one is released, the
// oldest waiter is granted, a new one queues.
func BenchmarkOfferReleaseFull(b *testing.B) {
	r := benchRouter(b)
	var running []Grant
	for range 8 * (64 + 128) {
		running = append(running, r.Offer(at(0), chat()).(Grant))
	}
	for range 300 {
		r.Offer(at(0), chat())
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		slot := i % len(running)
		running[slot] = r.Release(at(1), running[slot].Lease, Completed)[0].(Grant)
		r.Offer(at(1), chat())
		i++
	}
}

// BenchmarkOfferReleaseMixed is the same where requests need 1 to 57 sequences,
// so that heads don't fit, are passed, and have room held for them.
func BenchmarkOfferReleaseMixed(b *testing.B) {
	r := benchRouter(b)
	var running []Grant
	for i := range 2000 {
		if g, ok := r.Offer(at(0), many(1+i%8*8)).(Grant); ok {
			running = append(running, g)
		}
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		slot := i % len(running)
		for _, d := range r.Release(at(1), running[slot].Lease, Completed) {
			running = append(running, d.(Grant))
		}
		running[slot] = running[len(running)-1]
		running = running[:len(running)-1]
		if g, ok := r.Offer(at(1), many(1+i%8*8)).(Grant); ok {
			running = append(running, g)
		}
		i++
	}
}

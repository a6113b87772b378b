package router

import (
	"slices"
	"testing"
	"time"

	"sluice/config"
)

// promisedConfig is testConfig with the default SLOs and patience of a minute.
func promisedConfig(bigCap, fastCap config.Cap) *config.Config {
	cfg := testConfig(bigCap, fastCap)
	rt, usual := cfg.Routes["gemma"], config.DefaultRoute()
	rt.Prefill.SLO, rt.Decode.SLO = usual.Prefill.SLO, usual.Decode.SLO
	rt.Prefill.Queue.MaxWait, rt.Decode.Queue.MaxWait = time.Minute, time.Minute
	cfg.Routes["gemma"] = rt
	return cfg
}

// slow is a router whose f1 has just served a chat at 0.2 s for each token.
func slow(t *testing.T) *Router {
	t.Helper()
	r := testRouter(promisedConfig(total(64), total(64)))
	g := granted(t, r.Offer(at(0), chat()))
	r.First(at(0.1), g.Lease)
	r.Learn(at(200), Answer{Lease: g.Lease, TokensOut: 1000})
	r.Release(at(200), g.Lease, Completed)
	return r
}

// One answer that was held up doesn't shut a replica out: it is tried again, one
// at a time, until it is seen to be fast.
func TestAReplicaThatWasSlowIsTriedAgain(t *testing.T) {
	r := slow(t)
	g := granted(t, r.Offer(at(201), chat()))
	if rec := r.Explain(at(201), chat()); rec.Candidates[0].Verdict != TokensTooSlow {
		t.Errorf("the next is explained by %q", rec.Candidates[0].Verdict)
	}
	for now := 201.0; now < 450; now += 25 {
		r.First(at(now+0.1), g.Lease)
		r.Learn(at(now+20), Answer{Lease: g.Lease, TokensOut: 1000})
		r.Release(at(now+20), g.Lease, Completed)
		g = granted(t, r.Offer(at(now+25), chat()))
	}
	r.First(r.now, g.Lease)
	granted(t, r.Offer(r.now, chat()))
}

// Answers that are too slow whatever is done keep no prompts away.
func TestPromptsBesideAnswersThatAreSlowAnyway(t *testing.T) {
	r := slow(t)
	granted(t, r.Offer(at(201), chat()))
	prompt := label()
	prompt.Route, prompt.Pool = "", "fast"
	granted(t, r.Offer(at(201), prompt))
}

// What an empty replica does for nobody else it does for one of any size.
func TestAnEmptyReplicaTakesManySequences(t *testing.T) {
	r := testRouter(promisedConfig(total(64), total(1000)))
	granted(t, r.Offer(at(0), many(1000)))
}

// checkNobodyWaitsBesideTheEmpty: whatever was learned and whoever comes first, a
// replica that works and holds nothing isn't left so.
func (w *promisedWorld) checkNobodyWaitsBesideTheEmpty() {
	w.t.Helper()
	for _, wt := range w.r.waiters {
		for _, p := range wt.queue.order {
			for _, rep := range p.replicas {
				free := rep.held() == 0 && rep.works() && !rep.busy && (rep.hold == nil || rep.hold == wt)
				behind := wt.refuses() && wt.prev != nil // of one for which it is too late there
				if free && !behind && !wt.crowded && w.r.couldUse(rep, wt) && !w.fasterSoon(rep) {
					w.t.Fatalf("ticket %d waits for %d of %s while %s is empty", wt.ticket, wt.seqs, wt.class, rep.address)
				}
			}
		}
	}
}

// fasterSoon says that an empty replica waits until prompts that came lately are
// forgotten, for somebody's time per token.
func (w *promisedWorld) fasterSoon(rep *replica) bool {
	return slices.ContainsFunc(w.r.waiting, func(q *queue) bool {
		return slices.ContainsFunc(q.lanes, func(l *lane) bool {
			var p Prospect
			w.r.nextTokens(&p, rep, &l.head.claim)
			return p.slow()
		})
	})
}

package router

import (
	"testing"
	"time"

	"sluice/config"
)

// twins has two pools of one model and one of another, all allowed for decode.
func twins(cap int) (*config.Config, []Replica) {
	cfg := testConfig(total(cap), total(cap))
	big, fast := cfg.Pools["big"], cfg.Pools["fast"]
	big.Model, fast.Model = "gemma-27b", "gemma-12b"
	cfg.Pools["big"], cfg.Pools["fast"], cfg.Pools["spare"] = big, fast, fast
	rt := cfg.Routes["gemma"]
	rt.Decode.Pools = []config.Preference{{Pool: "fast"}, {Pool: "big"}, {Pool: "spare"}}
	cfg.Routes["gemma"] = rt
	cfg.Retry = config.Retry{BudgetMin: 100}
	return cfg, ready("big/b1", "fast/f1", "spare/s1")
}

// TestContinue: another replica of the same model goes on, in whichever pool, and
// never one of another model.
func TestContinue(t *testing.T) {
	cfg, fleet := twins(1)
	r := New(at(0), cfg)
	r.SetFleet(at(0), fleet)
	first := granted(t, r.Offer(at(0), chat()))
	d, freed := r.Continue(at(1), first.Lease, Truncated, 300)
	none(t, freed)
	second := granted(t, d)
	if first.Replica != "f1" || second.Replica != "s1" || second.Ticket != first.Ticket || !second.Retried {
		t.Fatalf("got %+v after %+v", second, first)
	}
	if second.TokensIn != 800 || second.TokensOut != 700 || second.LongestOut != 700 {
		t.Errorf("it is taken for %d tokens in, %d out, at most %d; want 800, 700, 700", second.TokensIn, second.TokensOut, second.LongestOut)
	}
	if rep := replicaOf(t, r, "f1"); rep.Closing.Decode != 1 {
		t.Errorf("the first lease isn't closing: %+v", rep)
	}
	d, _ = r.Continue(at(2), second.Lease, Stalled, 400)
	says(t, refused(t, d, Stalled), "second attempt")
}

func TestContinueIsRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		outcome Outcome
		change  func(*config.Config)
		gone    string // a replica
		why     string
	}{
		{"no break", Completed, nil, "", "go on from there"},
		{"before the answer", Lost, nil, "", "go on from there"},
		{"the client's fault", ClientError, nil, "", "go on from there"},
		{"no budget", Truncated, func(cfg *config.Config) { cfg.Retry = config.Retry{} }, "", "retry.budget_min=0"},
		{"only another model", Truncated, nil, "s1", "no other replica is up"},
	} {
		cfg, fleet := twins(2)
		if c.change != nil {
			c.change(cfg)
		}
		r := New(at(0), cfg)
		r.SetFleet(at(0), fleet)
		g := granted(t, r.Offer(at(0), chat()))
		if c.gone != "" {
			r.SetFleet(at(0), fleet[:2])
		}
		d, _ := r.Continue(at(1), g.Lease, c.outcome, 10)
		says(t, refused(t, d, c.outcome), c.why)
		if rep := replicaOf(t, r, g.Replica); rep.Active.Total() != 0 {
			t.Errorf("%s: the lease was not given back: %+v", c.name, rep)
		}
	}
}

// TestContinueAfterAReload: the model that spoke is the one that goes on, whatever
// its pool serves by now.
func TestContinueAfterAReload(t *testing.T) {
	cfg, fleet := twins(2)
	r := New(at(0), cfg)
	r.SetFleet(at(0), fleet)
	g := granted(t, r.Offer(at(0), chat()))
	changed, _ := twins(2)
	fast := changed.Pools["fast"]
	fast.Model = "gemma-27b"
	changed.Pools["fast"] = fast
	none(t, r.ApplyConfig(at(1), changed))
	d, _ := r.Continue(at(1), g.Lease, ErrorEvent, 10)
	if next := granted(t, d); next.Replica != "s1" {
		t.Errorf("goes on at %s, want s1", next.Replica)
	}
}

// TestContinueWaits: for as long as one that has just come, and before all others.
func TestContinueWaits(t *testing.T) {
	cfg, fleet := twins(1)
	r := New(at(0), cfg)
	r.SetFleet(at(0), fleet)
	first := granted(t, r.Offer(at(0), chat()))
	granted(t, r.Offer(at(0), chat()))
	twin := granted(t, r.Offer(at(0), chat()))
	queued(t, r.Offer(at(99), chat()))
	d, freed := r.Continue(at(100), first.Lease, Truncated, 10)
	q := queued(t, d)
	if none(t, freed); twin.Replica != "s1" || q.Ahead != 0 || q.Deadline != at(105) {
		t.Fatalf("got %+v", q)
	}
	turns := r.Release(at(102), twin.Lease, Completed) // by now the broken one has let go as well
	if g := granted(t, turns[0]); len(turns) != 2 || g.Ticket != first.Ticket || g.Replica != "s1" || g.Waited != 2*time.Second {
		t.Errorf("got %+v", g)
	}
}

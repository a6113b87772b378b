package vllmsim

import (
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// What the table implies of each cell, rounded: shares that failed early, and
// shares of users' time that were lost.
func TestPublishedCells(t *testing.T) {
	f := func(size string, w workload, early, lost figures) {
		t.Helper()
		for i, users := range publishedUsers {
			c := publishedRows[size][w].at(int(users))
			if got := math.Round(100*c.early()) / 100; got != early[i] {
				t.Errorf("%s, %v users: %v fail early, want %v", size, users, got, early[i])
			}
			if got := math.Round(100*c.lost()) / 100; got != lost[i] {
				t.Errorf("%s, %v users: %v of the time is lost, want %v", size, users, got, lost[i])
			}
		}
	}
	f("gemma-3-12b", generationLoad, figures{0, .11, .03, .43}, figures{})
	f("gemma-3-27b", generationLoad, figures{.21, .40, .66, .42}, figures{})
	f("gemma-3-12b", classificationLoad, figures{0, 0, 0, .57}, figures{0, .42, .09, 0})
	f("gemma-3-27b", classificationLoad, figures{0, .33, .35, .66}, figures{.09, 0, 0, 0})
}

// Between two columns a cell lies between theirs; outside it is the nearest.
func TestBetweenPublishedCells(t *testing.T) {
	f := func(users int, want float64) {
		t.Helper()
		r := row{throughput: figures{1, 1, 1, 1}, latency: figures{1, 2, 4, 6}}
		if got := r.at(users).latency; math.Abs(got-want) > 0.01 {
			t.Errorf("%d users: latency %v, want %v", users, got, want)
		}
	}
	f(1, 1)
	f(16, 1)
	f(32, 2)
	f(45, 2.98) // half way by the logarithm
	f(64, 4)
	f(128, 6)
	f(512, 6)
}

func TestWorkloadOfARequest(t *testing.T) {
	f := func(prompt, bound int, want workload) {
		t.Helper()
		if got := workloadOf(prompt, bound); got != want {
			t.Errorf("%d in, at most %d out: got %d, want %d", prompt, bound, got, want)
		}
	}
	f(500, 1000, generationLoad)
	f(4000, 10, classificationLoad)
	f(4000, 500, generationLoad)
	f(4000, 499, classificationLoad)
	f(500, 100000, generationLoad) // no bound
}

func TestOnlyWhatIsPublishedCanBeChosen(t *testing.T) {
	f := func(size, accelerator string, ok bool) {
		t.Helper()
		if err := (Options{Published: true, Size: size, Accelerator: accelerator}).Check(); (err == nil) != ok {
			t.Errorf("%s on %s: %v", size, accelerator, err)
		}
	}
	f("gemma-3-12b", "", true)
	f("gemma-3-27b", "v6e-2x2", true)
	f("gemma-3-27b", "v6e-2x4", false)
	f("gemma-3-4b", "", false)
}

// inPublished runs f in virtual time against a replica that loses and fails
// nothing; its latency is that of the first column.
func inPublished(t *testing.T, f func(t *testing.T, p *published)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPublished(Options{Size: "gemma-3-12b", Published: true}.withDefaults())
		defer p.close()
		for w := range p.rows {
			p.rows[w] = calm
		}
		f(t, p)
	})
}

// calm, failing and losing are tables in which all requests are answered, fail
// early, and are lost.
var (
	calm    = row{throughput: figures{1, 2, 4, 8}, latency: figures{1, 1, 1, 1}}
	failing = row{throughput: figures{1e9, 1e9, 1e9, 1e9}, latency: figures{1, 1, 1, 1}}
	losing  = row{latency: figures{1, 1, 1, 1}}
)

// stayOf is a job's stay as it is now.
func stayOf(p *published, j *job) *stay {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := *p.stays[j]
	return &st
}

// waitEnd is how a job's sequences have ended, and how long after start.
func waitEnd(j *job, start time.Time) (why ending, after time.Duration) {
	for len(j.running()) > 0 {
		<-j.wake
	}
	_, why = j.sequences[0].progress()
	return why, time.Since(start)
}

// The latency is what 12B was modelled to take: of an order of magnitude that
// the published workloads may have had.
func TestPublishedLatencyIsModelled(t *testing.T) {
	f := func(prompt, answer int, low, high time.Duration) {
		t.Helper()
		inPublished(t, func(t *testing.T, p *published) {
			j, start := sequences(1, prompt, answer), time.Now()
			p.add(j)
			if why, took := waitEnd(j, start); why != reached || took < low || took > high {
				t.Errorf("%d in, %d out: ended %v after %v, want %v to %v", prompt, answer, why, took, low, high)
			}
		})
	}
	f(500, 1000, 20*time.Second, 26*time.Second)
	f(4000, 10, 220*time.Millisecond, 330*time.Millisecond)
}

// Tokens come evenly, the first after the prompt's share.
func TestPublishedTokensComeEvenly(t *testing.T) {
	inPublished(t, func(t *testing.T, p *published) {
		j, start := sequences(1, 500, 100), time.Now()
		p.add(j)
		st := stayOf(p, j)
		for made, why := 0, running; why == running; {
			<-j.wake
			before := made
			if made, why = j.sequences[0].progress(); made != before+1 {
				t.Fatalf("%d tokens after %d", made, before)
			}
			if got := time.Since(start); got != st.due(made) {
				t.Fatalf("token %d came after %v, want %v", made, got, st.due(made))
			}
		}
	})
}

// Each sequence gives its place back with its own end.
func TestPublishedSequencesEndOneByOne(t *testing.T) {
	inPublished(t, func(t *testing.T, p *published) {
		j, start := sequences(3, 100, 10), time.Now()
		j.sequences[0].core.Answer = 2
		p.add(j)
		for made := 0; made < 3; made, _ = j.sequences[1].progress() {
			<-j.wake
		}
		if now, most, _ := p.held(); now != 2 || most != 3 {
			t.Errorf("%d held, %d at most; want 2 and 3", now, most)
		}
		waitEnd(j, start)
		now, _, left := p.held()
		if c := p.snapshot().Counters; now != 0 || left != 0 || c.Finished != 3 || c.PromptTokens != 300 || c.GenerationTokens != 22 {
			t.Errorf("%d held, %d left, %+v", now, left, c)
		}
	})
}

func TestPublishedEnds(t *testing.T) {
	f := func(end func(*published), want ending) {
		t.Helper()
		inPublished(t, func(t *testing.T, p *published) {
			j := sequences(2, 100, 1000)
			p.add(j)
			<-j.wake
			end(p)
			late := sequences(1, 1, 1)
			p.add(late)
			for _, s := range append(j.sequences, late.sequences...) {
				if _, why := s.progress(); why != want {
					t.Errorf("ended %v, want %v", why, want)
				}
			}
			if now, _, _ := p.held(); now != 0 {
				t.Errorf("%d held", now)
			}
		})
	}
	f((*published).close, aborted)
	f((*published).die, failed)
}

// While it hangs, nothing moves but the clock; then all goes on where it was.
func TestPublishedHangs(t *testing.T) {
	inPublished(t, func(t *testing.T, p *published) {
		j, start := sequences(1, 500, 50), time.Now()
		p.add(j)
		st := stayOf(p, j)
		<-j.wake
		p.hang(true)
		late := sequences(1, 500, 50)
		p.add(late)
		if got := p.snapshot().Running; got != 1 {
			t.Errorf("the gauge shows %d, want what it was", got)
		}
		time.Sleep(time.Hour) // virtual
		p.hang(false)
		if _, took := waitEnd(j, start); took != st.due(50)+time.Hour {
			t.Errorf("took %v, want an hour longer than %v", took, st.due(50))
		}
		if why, _ := waitEnd(late, start); why != reached {
			t.Errorf("what came during the hang ended %v", why)
		}
	})
}

func TestPublishedIsSlow(t *testing.T) {
	inPublished(t, func(t *testing.T, p *published) {
		p.slow(1000)
		j := sequences(1, 500, 1000)
		p.add(j)
		if took := stayOf(p, j).due(1000); took < 5*time.Hour {
			t.Errorf("takes %v", took)
		}
		p.cancel(j)
		if now, _, left := p.held(); now != 0 || left != 1 {
			t.Errorf("%d held, %d left; want 0 and 1", now, left)
		}
	})
}

// One seed, one fate.
func TestPublishedFatesFollowFromTheSeed(t *testing.T) {
	fates := func(seed uint64) string {
		p := newPublished(Options{Size: "gemma-3-27b", Published: true, Seed: seed}.withDefaults())
		defer p.close()
		var fates string
		for range 200 {
			j := sequences(1, 500, 1000)
			p.add(j)
			_, why := j.sequences[0].progress()
			fates += why.String() + " "
		}
		return fates
	}
	if first := fates(1); first != fates(1) || first == fates(2) {
		t.Error("fates don't follow from the seed alone")
	}
}

// Handlers add, cancel and read while timers fire.
func TestPublishedUnderRace(t *testing.T) {
	p := newPublished(Options{Size: "gemma-3-12b", Published: true, Speed: maxSpeed}.withDefaults())
	var handlers sync.WaitGroup
	for i := range 50 {
		handlers.Go(func() {
			j := sequences(2, 100, 20)
			p.add(j)
			defer p.cancel(j)
			if i%3 != 0 && j.patience == 0 {
				waitEnd(j, time.Now())
			}
			p.snapshot()
		})
	}
	handlers.Wait()
	p.close()
	if now, _, _ := p.held(); now != 0 {
		t.Errorf("%d sequences held at the end", now)
	}
}

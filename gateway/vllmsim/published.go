package vllmsim

import (
	"net/http"
	"sync"
	"time"

	"sluice/router/tpu"
)

// published times jobs by the published table instead of an engine: a request
// takes as long as the table says for as many users as there are sequences, and
// fails at once or never ends as often as the table's figures imply. There is no
// queue and no KV cache. docs/published.md says what may be concluded.
type published struct {
	rows  [2]row
	base  *tpu.Costs // of 12B, which the table's multiples are of
	own   *tpu.Costs
	speed float64
	seed  uint64
	most  int // sequences held at once; 0: no bound

	mu       sync.Mutex // guards the rest
	stats    stats
	counters tpu.Counters
	stays    map[*job]*stay
	holds    int // sequences that go on
	peak     int
	drawn    uint64    // numbers
	slowed   float64   // times that a job takes longer
	hung     time.Time // since when; zero: it isn't
	frozen   int       // what was held then
	over     ending    // what a job that is added ends with at once; running: it goes on
}

// newPublished panics on options that Options.Check refuses.
func newPublished(o Options) *published {
	reference := o
	reference.Size, reference.Accelerator = "gemma-3-12b", "v6e-2x2"
	return &published{
		rows: publishedRows[o.Size], base: mustCosts(reference), own: mustCosts(o),
		speed: o.Speed, seed: o.Seed, most: o.MaxNumQueuedReqs, slowed: 1,
		stats: newStats(o.MaxModelLen), stays: map[*job]*stay{},
	}
}

func mustCosts(o Options) *tpu.Costs {
	costs, err := tpu.NewCosts(o.setup())
	if err != nil {
		panic("BUG: simulated replica can't start: " + err.Error())
	}
	return costs
}

// add draws a job's fate. Users are the sequences held, its own included.
func (p *published) add(j *job) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	prompt, answer := 0, 0
	for _, s := range j.sequences {
		prompt, answer = max(prompt, s.core.Prompt), max(answer, s.core.Answer)
	}
	c := p.rows[workloadOf(prompt, j.bound)].at(p.holds + len(j.sequences))
	fate, spread := p.draw(), p.draw()
	switch {
	case p.most > 0 && p.holds+len(j.sequences) > p.most:
		p.stats.busy++
		return false
	case p.over != running:
		p.endAll(j, 0, p.over)
		return true
	case fate < c.early():
		p.endAll(j, 0, failed)
		return true
	}
	p.hold(j, p.stay(prompt, answer, p.slowed*c.latency*(1-jitter+2*jitter*spread)), fate < c.hang())
	return true
}

// hold takes a job in; a lost one gets no timer.
func (p *published) hold(j *job, st *stay, lost bool) {
	p.holds += len(j.sequences)
	p.peak = max(p.peak, p.holds)
	p.stays[j] = st
	if lost {
		j.patience = lostPatience * st.due(st.longest)
		return
	}
	st.timer = time.AfterFunc(st.next, func() { p.tick(j, st) })
	if !p.hung.IsZero() {
		st.timer.Stop()
	}
}

// draw is a number from 0 to 1; with one seed always the same ones in turn.
func (p *published) draw() float64 {
	p.drawn++
	return float64(mix(p.seed+p.drawn)>>11) / (1 << 53)
}

// endAll ends what of a job goes on, with so many tokens of its longest answer.
// Its place has been given back.
func (p *published) endAll(j *job, made int, why ending) {
	for _, s := range j.running() {
		p.end(s, min(made, s.core.Answer), why)
	}
	j.ring()
}

func (p *published) end(s *sequence, made int, why ending) {
	p.stats.success[why]++
	s.show(made, why)
}

// running is the sequences that go on.
func (j *job) running() []*sequence {
	var left []*sequence
	for _, s := range j.sequences {
		if _, why := s.progress(); why == running {
			left = append(left, s)
		}
	}
	return left
}

// forget gives back a job's place, and says how many sequences it had left. On a
// job that isn't held it does nothing.
func (p *published) forget(j *job) int {
	st := p.stays[j]
	if st == nil {
		return 0
	}
	st.stop()
	delete(p.stays, j)
	left := len(j.running())
	p.holds -= left
	return left
}

// cancel drops a job whose client has left, or has been cut off.
func (p *published) cancel(j *job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counters.Left += p.forget(j)
}

// close aborts all jobs, now and later.
func (p *published) close() { p.stop(aborted) }

// die fails them.
func (p *published) die() { p.stop(failed) }

func (p *published) stop(why ending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = why
	for j, st := range p.stays {
		p.forget(j)
		p.endAll(j, st.made, why)
	}
}

// slow makes the jobs that are added from now on take k times as long.
func (p *published) slow(k float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slowed = k
}

// hang stops the tokens of all jobs, or lets them go on where they stopped.
func (p *published) hang(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on == !p.hung.IsZero() {
		return
	}
	now := time.Now()
	for _, st := range p.stays {
		if on {
			st.stop()
			continue
		}
		since := p.hung
		if st.arrived.After(since) {
			since = st.arrived
		}
		st.arrived = st.arrived.Add(now.Sub(since))
		st.goOn(now)
	}
	p.hung = time.Time{}
	if on {
		p.hung, p.frozen = now, p.holds
	}
}

// snapshot shows all that is held as running, or what was when it hung; the KV
// cache is shown empty.
func (p *published) snapshot() *snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	gauges := tpu.Gauges{Running: p.holds}
	if !p.hung.IsZero() {
		gauges.Running = p.frozen
	}
	return &snapshot{
		stats: p.stats.clone(), Counters: p.counters, Gauges: gauges,
		page: p.own.Page(), pages: p.own.Pages(),
	}
}

func (p *published) held() (now, most, left int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.holds, p.peak, p.counters.Left
}

// lose lets a request hang until its client leaves. At the latest when patience
// with it ends, its connection is cut.
func (s *Server) lose(w http.ResponseWriter, r *http.Request, rep *reply, sh shape) {
	if rep.work.Stream {
		openStream(w, sh.open(nil, rep))
	}
	patience := time.NewTimer(rep.job.patience)
	defer patience.Stop()
	select {
	case <-r.Context().Done():
	case <-rep.job.wake: // the replica ends
	case <-patience.C:
	}
	panic(http.ErrAbortHandler)
}

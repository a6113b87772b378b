package field

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/gateway/vllmsim"
)

// fleet is the simulated replicas: two of a large model, two of a small one, and one
// of the small one that comes and goes.
type fleet struct {
	t            testing.TB
	large, small []*station
	spare        *station
	members      []*station // in the configuration
}

func newFleet(t testing.TB) *fleet {
	f := &fleet{t: t}
	for i := range 5 {
		o := vllmsim.Options{Size: "gemma-3-12b", Model: "small"}
		most := smallCap
		if i < 2 {
			o.Size, o.Model, most = "gemma-3-27b", "large", largeCap
		}
		o.MaxModelLen, o.MaxNumSeqs, o.Speed = 8192, 64, 3
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
		at := &station{t: t, address: ownAddress(t, i), options: o, most: most}
		at.live()
		t.Cleanup(at.retire)
		switch {
		case i < 2:
			f.large = append(f.large, at)
		case i < 4:
			f.small = append(f.small, at)
		default:
			f.spare = at
		}
	}
	f.members = f.all()
	return f
}

// stations are all there are; all, those that are usually in the configuration.
func (f *fleet) stations() []*station { return append(f.all(), f.spare) }

func (f *fleet) all() []*station { return append(append([]*station(nil), f.large...), f.small...) }

// with is all and one more; without, one less and another more.
func (f *fleet) with(more *station) []*station { return append(f.all(), more) }

func (f *fleet) without(less, more *station) []*station {
	var left []*station
	for _, at := range f.with(more) {
		if at != less {
			left = append(left, at)
		}
	}
	return left
}

// policy is the n-th configuration, over the replicas that are members.
func (f *fleet) policy(n int) string {
	urls := map[string][]string{}
	for _, at := range f.members {
		urls[at.options.Model] = append(urls[at.options.Model], strconv.Quote("http://"+at.address))
	}
	pool := func(name string, most int) string {
		return fmt.Sprintf("  %s: {model: %s, size: gemma-3-%s, accelerator: v6e-2x2, replicas: [%s], cap: {total: %d, prefill: %d}, engine: {max_model_len: 8192, max_num_seqs: 64}}\n",
			name, name, map[string]string{"large": "27b", "small": "12b"}[name], strings.Join(urls[name], ", "), most, most)
	}
	how := fmt.Sprintf("queue: {max_waiting: %d, max_wait: 2s}, on_break: %s", 64+n%2, [...]string{"end", "continue"}[n%2])
	return "pools:\n" + pool("large", largeCap) + pool("small", smallCap) + "routes:\n" +
		"  m: {prefill: {pools: [{pool: large}, {pool: small}], " + how + "}, decode: {pools: [{pool: small}, {pool: large}], " + how + "}}\n" +
		"timeouts: {first_event: 3s, first_event_per_4k: 1s, between_events: 3s, idle_replica: 1s}\n" +
		"health: {interval: 500ms, timeout: 2s, failures_open: 3, open_for: 1s}\n"
}

// station is an address at which simulated replicas live, one after the other.
type station struct {
	t       testing.TB
	address string
	options vllmsim.Options
	most    int // its cap
	now     *vllmsim.Server
	over    chan error // when it no longer serves
	lives   int
	hung    bool // in this life
	peak    int  // of sequences held at once, by the replicas' own count
}

// live starts a replica.
func (s *station) live() {
	s.t.Helper()
	ln, err := net.Listen("tcp", s.address)
	if err != nil {
		s.t.Fatalf("listen for a simulated replica: %v", err)
	}
	s.address = ln.Addr().String()
	s.lives++
	s.hung = false
	s.now, s.over = vllmsim.New(s.options), make(chan error, 1)
	go func(now *vllmsim.Server, over chan<- error) { over <- now.Serve(ln) }(s.now, s.over)
	s.spoil()
}

// spoil has some requests go wrong, evenly spread, whatever else happens.
func (s *station) spoil() {
	for _, f := range []vllmsim.Fault{
		{Kind: vllmsim.ErrorEvent, After: 3, Share: .005},
		{Kind: vllmsim.Reset, After: 5, Share: .005},
		{Kind: vllmsim.Truncate, After: 2, Share: .005},
		{Kind: vllmsim.Stall, After: 4, Share: .002},
		{Kind: vllmsim.Busy, Status: 429, Share: .005},
		{Kind: vllmsim.HalfHeader, Share: .002},
	} {
		s.befall(f)
	}
}

func (s *station) befall(f vllmsim.Fault) {
	s.t.Helper()
	if err := s.now.Inject(f); err != nil {
		s.t.Error(err)
	}
}

// crash ends the replica as a killed process ends.
func (s *station) crash() {
	s.t.Helper()
	s.befall(vllmsim.Fault{Kind: vllmsim.Crash})
	s.retire()
}

// hang stops its chip, for a time or for good. A chip that stands still lets go of
// nothing, also of what its clients have left, so that only until now its count can be
// held against the cap.
func (s *station) hang() {
	s.t.Helper()
	s.befall(vllmsim.Fault{Kind: vllmsim.Hang})
	s.count()
	s.hung = true
}

// heal lets its chip go on.
func (s *station) heal() {
	s.t.Helper()
	if err := s.now.Heal(); err != nil {
		s.t.Error(err)
	}
	s.spoil()
}

// count keeps the most that it has held.
func (s *station) count() {
	if !s.hung {
		s.peak = max(s.peak, s.now.Peak())
	}
}

// retire waits for the replica's end and keeps its count.
func (s *station) retire() {
	if s.over == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.now.Shutdown(ctx) // what is left is aborted
	<-s.over
	s.over = nil
	s.count()
}

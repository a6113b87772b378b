package field

import (
	"flag"
	"strings"
	"syscall"
	"testing"
	"time"
)

// soakFor is how long TestSoak lasts: briefly in every run, so that it doesn't rot;
// `make soak` says how long.
var soakFor = flag.Duration("soak", 24*time.Second, "how long TestSoak lasts, 10s to 1h")

const (
	soakScrape = 250 * time.Millisecond // from scrape to scrape
	largeCap   = 4                      // sequences of a replica: low, so that caps and queues are reached
	smallCap   = 6
)

// soak is a gateway under open-loop load for a long time, while replicas die and
// return, hang, come and go, and its configuration changes. The time is cut into
// windows, minutes unless it is short, and the same befalls the fleet in each, so
// that windows can be compared.
type soak struct {
	*rig
	fleet   *fleet
	crowd   *crowd
	began   time.Time
	window  time.Duration
	due     []event // in order of time
	reloads int
	seen    []reading
	heaps   []float64 // bytes in use at the end of each window
}

// event is what happens at a time from the beginning.
type event struct {
	at time.Duration
	do func()
}

// TestSoak: under all of that every scrape balances, every request has its line in
// the log and ends as its client heard it, no replica ever holds more than its cap by
// its own count, and neither goroutines, descriptors, memory nor latencies grow.
func TestSoak(t *testing.T) {
	t.Parallel()
	long := *soakFor
	if long < 10*time.Second || long > time.Hour {
		t.Fatalf("-soak %v, want 10s to 1h", long)
	}
	s := &soak{fleet: newFleet(t), window: min(time.Minute, long/3)}
	s.rig = start(t, s.fleet.policy(0), 4)
	s.crowd = newCrowd(s.rig, s.window)
	for n := range int(long / s.window) {
		s.troubles(n)
	}
	s.run(long)
	s.settle()
	s.account()
	s.judge()
	t.Log(s.table())
}

// troubles are those of the n-th window. By its end all are over.
func (s *soak) troubles(n int) {
	f := s.fleet
	add := func(share float64, do func()) {
		s.due = append(s.due, event{time.Duration((float64(n) + share) * float64(s.window)), do})
	}
	add(.02, s.reload(f.all()))
	add(.08, f.small[1].crash)
	add(.18, s.reload(f.with(f.spare)))
	add(.25, f.small[1].live)
	add(.35, s.reload(f.without(f.large[0], f.spare)))
	add(.50, s.reload(f.with(f.spare)))
	add(.55, f.small[0].hang)
	add(.65, s.reload(f.all()))
	if n%2 == 0 {
		add(.70, f.small[0].heal)
	} else {
		add(.70, func() { f.small[0].crash(); f.small[0].live() })
	}
	add(.78, f.large[1].crash)
	add(.85, s.reload(f.all()))
	add(.92, f.large[1].live)
}

// reload puts a configuration with these replicas in force: by a change of the file
// alone, and every other time by a signal too. What else is in it changes each time.
func (s *soak) reload(members []*station) func() {
	return func() {
		s.reloads++
		s.fleet.members = members
		s.write(s.t, s.fleet.policy(s.reloads))
		if s.reloads%2 == 0 {
			s.signal(syscall.SIGHUP)
		}
	}
}

// run lets all of it happen.
func (s *soak) run(long time.Duration) {
	s.began = time.Now()
	s.crowd.come(s.began, long)
	tick := time.NewTicker(soakScrape)
	defer tick.Stop()
	for now := time.Duration(0); now < long; now = time.Since(s.began) {
		for len(s.due) > 0 && s.due[0].at <= now {
			s.due[0].do()
			s.due = s.due[1:]
		}
		if len(s.heaps) < int(now/s.window) {
			s.close(now)
		}
		s.look(now)
		<-tick.C
	}
	s.close(long)
}

// close ends a window: what is then in use shows what is kept of requests long gone.
func (s *soak) close(now time.Duration) {
	s.t.Helper()
	f := s.footprint()
	s.heaps = append(s.heaps, f.heap)
	s.t.Logf("after %v: %d requests, %v goroutines, %v descriptors, %.1f MiB in use, %.1f resident", now.Round(time.Second), s.crowd.number(),
		f.goroutines, f.descriptors, f.heap/(1<<20), f.resident/(1<<20))
}

// look reads the metrics and checks what holds at any time.
func (s *soak) look(now time.Duration) {
	s.t.Helper()
	m := s.metrics()
	received, finished, inFlight := m.sum("sluice_requests_received_total"), m.sum("sluice_requests_finished_total"), m.sum("sluice_requests_in_flight")
	if received != finished+inFlight {
		s.t.Errorf("after %v the ledger does not balance: received %v, finished %v, in flight %v", now, received, finished, inFlight)
	}
	for id, most := range m {
		labels, is := strings.CutPrefix(id, "sluice_replica_cap{")
		if !is {
			continue
		}
		_, replica, _ := strings.Cut(strings.TrimSuffix(labels, "}"), ",")
		if held := m.sum("sluice_replica_sequences", replica); held > most {
			s.t.Errorf("after %v %s holds %v sequences, cap %v", now, replica, held, most)
		}
	}
	s.seen = append(s.seen, reading{window: int(now / s.window), inFlight: inFlight, waiting: m.sum("sluice_queue_requests"),
		goroutines: m["go_goroutines"], descriptors: m["process_open_fds"], resident: m["process_resident_memory_bytes"]})
}

// settle waits for the end of everything: nothing is left, here or at the replicas.
func (s *soak) settle() {
	s.t.Helper()
	s.crowd.leave()
	s.zero()
	full := false
	for _, at := range s.fleet.stations() {
		eventually(s.t, at.address+" is idle", func() bool { return at.now.Held() == 0 })
		at.retire()
		full = full || at.peak == at.most
		if at.peak > at.most {
			s.t.Errorf("%s held %d sequences at once, cap %d", at.address, at.peak, at.most)
		}
	}
	if !full {
		s.t.Error("no replica was ever full: the caps weren't tried")
	}
}

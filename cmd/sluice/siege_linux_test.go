package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
)

// siege is a process that somebody tries to exhaust. While it lasts its memory is
// watched, and it is asked for its health again and again, each time on a new
// connection as probes do.
type siege struct {
	*running
	rep   *gatewaytest.Replica
	clean int // bytes of memory before it begins

	done  chan struct{}
	ended sync.WaitGroup

	mu     sync.Mutex // guards the rest
	peak   int        // bytes
	probes int
	worst  time.Duration
	failed []string
}

const (
	watchMemoryEvery = 10 * time.Millisecond
	probeEvery       = 20 * time.Millisecond
)

// besiege launches a process, with more configuration than one pool of rep, and
// begins to watch it. files is its limit on open files; 0: as it is.
func besiege(t *testing.T, more string, files int, script ...gatewaytest.Step) *siege {
	t.Helper()
	s := &siege{rep: gatewaytest.NewReplica(t, script...), done: make(chan struct{})}
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	content := fmt.Sprintf(`
listeners: {data: {address: "127.0.0.1:0"}, ops: {address: "127.0.0.1:0"}, control: {address: "127.0.0.1:0"}}
pools: {p: {model: served, replicas: [%s], cap: {total: 64}, engine: {max_model_len: 8192}}}
routes: {m: {prefill: {pools: [{pool: p}]}, decode: {pools: [{pool: p}]}}}
%s`, s.rep.URL(), more)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	s.running = &running{T: t, exited: make(chan error, 1), files: files}
	s.launch(file, sink{s.running, &s.stdout})
	s.serves() // what the first request takes is none of the siege's
	s.clean = s.memory()
	s.ended.Go(func() { s.every(watchMemoryEvery, func() { s.grew(s.memory()) }) })
	s.ended.Go(func() { s.every(probeEvery, s.probe) })
	t.Cleanup(s.lift)
	return s
}

func (s *siege) every(pause time.Duration, do func()) {
	again := time.NewTicker(pause)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			do()
		case <-s.done:
			return
		}
	}
}

// memory is what of the process is in memory, by the kernel's account.
func (s *siege) memory() int {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
	fields := bytes.Fields(statm)
	if err != nil || len(fields) < 2 {
		return 0 // it has ended, which others see
	}
	pages, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		s.Error(err)
	}
	return pages * os.Getpagesize()
}

func (s *siege) grew(now int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peak = max(s.peak, now)
}

func (s *siege) probe() {
	began := time.Now()
	answer := gatewaytest.Get(s.T, s.ops, "/healthz")
	took := time.Since(began)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.probes++
	s.worst = max(s.worst, took)
	if answer.Status != 200 { // how long it took is told, not judged: others may be using the machine
		s.failed = append(s.failed, fmt.Sprintf("status %d, %v, after %v", answer.Status, answer.Err, took))
	}
}

// lift ends the watching.
func (s *siege) lift() {
	select {
	case <-s.done:
	default:
		close(s.done)
	}
	s.ended.Wait()
}

// held says how much memory the siege may have taken, and that the process was
// healthy throughout.
func (s *siege) held(most int) {
	s.Helper()
	s.lift()
	took := s.peak - s.clean
	s.Logf("from %d MiB to at most %d MiB, %d MiB are allowed; worst of %d probes %v", s.clean>>20, s.peak>>20, (s.clean+most)>>20, s.probes, s.worst.Round(time.Millisecond))
	if took > most && !raced {
		s.Errorf("it took %d KiB of memory, at most %d KiB are due", took>>10, most>>10)
	}
	if s.probes == 0 || len(s.failed) > 0 {
		s.Errorf("%d of %d probes of its health failed: %q", len(s.failed), s.probes, s.failed)
	}
}

// serves asks for an answer as honest clients do.
func (s *siege) serves() {
	s.Helper()
	answer := gatewaytest.Post(s.T, s.data, "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", false))
	if answer.Status != 200 || answer.Ending != gatewaytest.Whole {
		s.Errorf("an honest client: status %d, ending %v, %v: %s", answer.Status, answer.Ending, answer.Err, answer.Body)
	}
}

// connect opens n connections at once and sends something on each, closed at the
// end of the test. hear, if given, is called with each, many at a time.
func (s *siege) connect(n int, send string, hear func(*gatewaytest.Client) error) []*gatewaytest.Client {
	s.Helper()
	clients := make([]*gatewaytest.Client, n)
	var all sync.WaitGroup
	for w := range 64 {
		all.Go(func() {
			for i := w; i < n; i += 64 {
				nc, err := net.DialTimeout("tcp", s.data, gatewaytest.Patience)
				if err != nil {
					s.Error(err)
					return
				}
				c := gatewaytest.NewClient(s.T, nc)
				clients[i] = c
				if err = c.Send(send); err == nil && hear != nil {
					err = hear(c)
				}
				if err != nil {
					s.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if s.Failed() {
		s.FailNow()
	}
	return clients
}

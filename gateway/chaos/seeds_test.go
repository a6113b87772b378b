package chaos

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
)

var (
	seedFlag  = flag.Int64("seed", -1, "play this seed alone")
	seedsFlag = flag.Int("seeds", 40, "how many seeds to play")
	fromFlag  = flag.Uint64("from", 0, "the first seed to play")
)

// steps is the length of a schedule.
const steps = 24

// TestSeeds plays whole gateways through schedules of faults.
func TestSeeds(t *testing.T) {
	warmUp()
	if *seedFlag >= 0 {
		play(t, uint64(*seedFlag), &sync.Map{})
		return
	}
	var seen sync.Map // outcomes of requests, and what else happened
	t.Cleanup(func() {
		if *seedsFlag >= enough && !t.Failed() {
			missing(t, &seen)
		}
	})
	var next atomic.Uint64
	next.Store(*fromFlag)
	last := *fromFlag + uint64(*seedsFlag)
	for range runtime.GOMAXPROCS(0) {
		t.Run("seeds", func(t *testing.T) {
			t.Parallel()
			for seed := next.Add(1) - 1; seed < last && !t.Failed(); seed = next.Add(1) - 1 {
				play(t, seed, &seen)
			}
		})
	}
}

// play is one seed in a bubble of its own.
func play(t *testing.T, seed uint64, seen *sync.Map) {
	defer sayBug(seed)
	synctest.Test(t, func(t *testing.T) {
		defer sayBug(seed)
		w := newWorld(t, seed)
		w.play(steps)
		for outcome := range w.outcomes {
			seen.Store(outcome, true)
		}
		for what := range w.reached {
			seen.Store(what, true)
		}
		if *seedFlag >= 0 {
			t.Logf("the schedule of seed %d:\n%s", seed, w.story.String())
		}
		if len(w.faults) > 0 {
			t.Errorf("seed %d: %s\n%s", seed, strings.Join(w.faults[:min(3, len(w.faults))], "\n"), rerun(seed))
		}
	})
}

// sayBug tells how to play a seed again that panics.
func sayBug(seed uint64) {
	if bug := recover(); bug != nil {
		fmt.Fprintf(os.Stderr, "seed %d: %v\n%s\n", seed, bug, rerun(seed))
		panic(bug)
	}
}

// rerun is the command that plays a seed again.
func rerun(seed uint64) string {
	return fmt.Sprintf("again: go test ./gateway/chaos -run TestSeeds -v -seed %d", seed)
}

// warmUp lets the HTTP library start, outside of any bubble, the goroutine that it
// never ends.
func warmUp() {
	d := newDoor(1)
	s := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}}
	served := make(chan error)
	go func() { served <- s.Serve(d) }()
	if c, err := d.connect(2); err == nil {
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		_, _ = c.Read(make([]byte, 100))
		c.Close()
	}
	d.Close()
	<-served
}

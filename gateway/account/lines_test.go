package account

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestLinesAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out counted
		lines := NewLines(&out)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { lines.Run(ctx) })
		for range 10 {
			_, _ = lines.Write([]byte("a line\n")) // never fails
		}
		time.Sleep(gatherFor + time.Millisecond)
		if got := out.text(); got != strings.Repeat("a line\n", 10) || out.writes() != 1 {
			t.Errorf("got %d writes of %q, want 10 lines in 1", out.writes(), got)
		}
		_, _ = lines.Write([]byte("the last\n"))
		stop()
		running.Wait()
		if got := out.text(); !strings.HasSuffix(got, "the last\n") {
			t.Errorf("got %q; the last line is missing", got)
		}
	})
}

// A pipe that nobody reads holds up its writer, and nobody else.
func TestStuckLogHoldsNobodyUp(t *testing.T) {
	stuck := &gated{open: make(chan struct{})}
	lines := NewLines(stuck)
	line := []byte(strings.Repeat("x", 1023) + "\n")
	_, _ = lines.Write(line)
	flushed := make(chan struct{})
	go func() { lines.Flush(); close(flushed) }()
	for range 2 * mostGather / len(line) {
		_, _ = lines.Write(line)
	}
	lost := lines.Lost()
	if most := uint64(mostGather/len(line)) + 2; lost == 0 || lost > most {
		t.Errorf("lost %d lines, want 1 to %d", lost, most)
	}
	close(stuck.open)
	<-flushed
	lines.Flush()
	if kept := uint64(stuck.n / len(line)); kept+lost != uint64(2*mostGather/len(line))+1 {
		t.Errorf("%d lines written and %d lost, of %d", kept, lost, 2*mostGather/len(line)+1)
	}
}

func TestFullDiskIsCounted(t *testing.T) {
	lines := NewLines(full{})
	for range 3 {
		_, _ = lines.Write([]byte("a line\n"))
	}
	lines.Flush()
	if got := lines.Lost(); got != 3 {
		t.Errorf("lost %d lines, want 3", got)
	}
}

// Writers, a flusher and a reader of the count at once, for the race detector.
func TestLinesAtOnce(t *testing.T) {
	var out counted
	lines := NewLines(&out)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				_, _ = lines.Write([]byte("a line\n"))
				lines.Flush()
				_ = lines.Lost()
			}
		})
	}
	all.Wait()
	if got := strings.Count(out.text(), "a line\n"); got != 800 {
		t.Errorf("got %d lines, want 800", got)
	}
}

// counted is a log that counts its writes.
type counted struct {
	mu  sync.Mutex // guards all below
	buf bytes.Buffer
	n   int
}

func (c *counted) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.buf.Write(p)
}

func (c *counted) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.String()
}

func (c *counted) writes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// gated is a log that takes nothing until it is opened.
type gated struct {
	open chan struct{}
	n    int
}

func (g *gated) Write(p []byte) (int, error) {
	<-g.open
	g.n += len(p)
	return len(p), nil
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

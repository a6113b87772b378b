package account

import (
	"context"
	"io"
	"sync"
	"time"
)

// Lines gathers the lines of a log and writes many of them at once, on a
// goroutine of its own: a write for each request would cost as much as the
// gateway's own work on it, and a log that is stuck would hold requests up. What
// a stuck log can't take is dropped and counted, in whole lines.
type Lines struct {
	to io.Writer

	mu      sync.Mutex // guards waiting, lost
	waiting []byte
	lost    uint64

	writing sync.Mutex // held while to is written to; guards spare
	spare   []byte
}

const (
	gatherFor  = 100 * time.Millisecond // between two writes
	mostGather = 4 << 20                // bytes that wait for a log that is stuck
)

// NewLines gathers lines for to. Run writes them.
func NewLines(to io.Writer) *Lines { return &Lines{to: to} }

// Write takes one whole line. It never waits and never fails: a line that finds
// no room is counted as lost.
func (l *Lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting)+len(line) > mostGather {
		l.lost++
	} else {
		l.waiting = append(l.waiting, line...)
	}
	return len(line), nil
}

// Lost is how many lines were dropped because the log could not take them.
func (l *Lines) Lost() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Run writes what has gathered, again and again, until ctx ends, and then the rest.
func (l *Lines) Run(ctx context.Context) {
	again := time.NewTicker(gatherFor)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			l.Flush()
		case <-ctx.Done():
			l.Flush()
			return
		}
	}
}

// Flush writes what has gathered. Lines that the log refuses (a full disk) are
// lost, and counted; the next are tried again.
func (l *Lines) Flush() {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	lines := l.waiting
	l.waiting = l.spare[:0]
	l.mu.Unlock()
	l.spare = lines
	if len(lines) == 0 {
		return
	}
	if n, err := l.to.Write(lines); err != nil {
		l.lose(lines[n:])
	}
}

func (l *Lines) lose(lines []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range lines {
		if b == '\n' {
			l.lost++
		}
	}
}

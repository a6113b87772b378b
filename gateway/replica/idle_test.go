package replica

import (
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// TestIdleTimeout: reused until 4 s, closed then, and never later.
func TestIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closedAt := make(chan time.Time, 10)
		c, s := inMemory(t, func(_ int, p *peer) {
			for p.answer(okAnswer) {
			}
			closedAt <- time.Now()
		})
		start := time.Now()
		for range 5 {
			wantOK(t, run(c, post("x", time.Second)))
			time.Sleep(3999 * time.Millisecond)
		}
		if s.accepted() != 1 {
			t.Fatalf("got %d connections, want 1", s.accepted())
		}
		want := start.Add(4*3999*time.Millisecond + 4*time.Second)
		if got := <-closedAt; !got.Equal(want) {
			t.Errorf("closed %v too late", got.Sub(want))
		}
	})
}

// TestIdleTimerFollows: each of several idle connections goes at its own time.
func TestIdleTimerFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan time.Duration, 3)
		start := time.Now()
		c, _ := inMemory(t, func(_ int, p *peer) {
			p.answer(okAnswer)
			p.gone()
			closed <- time.Since(start)
		})
		var calls [3]Call
		var answers [3]*Answer
		for i := range calls {
			answers[i], _ = c.Do(&calls[i], post("x", time.Second))
			io.ReadAll(answers[i])
		}
		for _, a := range answers {
			time.Sleep(time.Second)
			a.Close()
		}
		for i := range answers {
			if got, want := <-closed, time.Duration(i+5)*time.Second; got != want {
				t.Errorf("connection %d closed after %v, want %v", i, got, want)
			}
		}
	})
}

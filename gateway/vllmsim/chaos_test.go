package vllmsim

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Faults of every kind, injected, healed and asked for by many at once, leave
// nothing behind: no sequence, no goroutine, and a replica that answers.
func TestFaultsLeaveNothingBehind(t *testing.T) {
	before := runtime.NumGoroutine()
	s, address := start(t, Options{Speed: 1000})
	asked := []string{"", "busy", "half-header", "garbage", "garbage:after=5", "stall:after=2", "error-event:after=3", "abort:after=4",
		"truncate:after=5", "cut:after=3", "reset", "reset:after=9", "deaf", "hang:after=5"}
	wide := []Fault{{Kind: Hang}, {Kind: Slow, Factor: 2}, {Kind: Refuse}, {Kind: Reset, Share: .5, Times: 3}}
	// Not kept alive: what a fault breaks must not look like a broken idle connection.
	transport := &http.Transport{DisableKeepAlives: true}
	var users sync.WaitGroup
	for user := range 8 {
		users.Go(func() {
			for i := range 28 {
				if i%5 == 0 {
					if err := s.Inject(wide[(user+i/5)%len(wide)]); err != nil {
						t.Error(err)
					}
				}
				visit(t, transport, address, asked[(user+i)%len(asked)], i%2 == 0)
				if err := s.Heal(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	users.Wait()
	if err := s.Heal(); err != nil {
		t.Fatal(err)
	}
	waitHeld(t, s, 0)
	if got := post(t, address, chatPath, notStreamed); got.Status != 200 {
		t.Errorf("afterwards it answers %d", got.Status)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before+2; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// visit makes one request, whatever it comes to, and leaves soon.
func visit(t *testing.T, via http.RoundTripper, address, fault string, stream bool) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	body := notStreamed
	if stream {
		body = streamed
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+chatPath, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	r.Header.Set("Content-Type", "application/json")
	if fault != "" {
		r.Header.Set(faultHeader, fault)
	}
	if res, err := via.RoundTrip(r); err == nil {
		_, _ = io.Copy(io.Discard, res.Body) // cut, perhaps: as intended
		res.Body.Close()
	}
}

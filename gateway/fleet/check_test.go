package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sluice/config"
)

func TestUnreached(t *testing.T) {
	f := func(err error, want result) {
		t.Helper()
		wrapped := &url.Error{Op: "Get", URL: "http://replica/health", Err: &net.OpError{Op: "dial", Net: "tcp", Err: err}}
		if got := unreached(wrapped); got != want {
			t.Errorf("%v: got %s, want %s", err, got, want)
		}
	}
	f(syscall.ECONNREFUSED, refused)
	f(&net.DNSError{Err: "no such host", Name: "replica", IsNotFound: true}, refused)
	f(&net.DNSError{Err: "server misbehaving", Name: "replica", IsTemporary: true}, failed)
	f(fmt.Errorf("read: %w", io.ErrUnexpectedEOF), failed)
	f(context.DeadlineExceeded, failed)
	f(errors.New("other"), failed)
}

// TestChecksLeaveNoDialBehind: a check that gave up on a replica which takes no
// connection, or no handshake, leaves nothing that goes on without it.
func TestChecksLeaveNoDialBehind(t *testing.T) {
	f := func(address string, dial dialFunc) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			var open atomic.Int32
			w, err := newWire(address, dialSpec{connect: time.Second}, func(ctx context.Context, network, address string) (net.Conn, error) {
				open.Add(1)
				defer open.Add(-1)
				return dial(ctx, network, address)
			})
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if got := w.health(t.Context(), spec{health: config.Health{Timeout: 300 * time.Millisecond}}); got != failed {
					t.Errorf("got %s", got)
				}
			}
			<-time.After(time.Second)
			synctest.Wait() // the bubble ends when no goroutine is left
			if n := open.Load(); n != 0 {
				t.Errorf("%d dials go on", n)
			}
		})
	}
	f("http://replica:1", func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	f("https://replica:1", func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, there) }()
		return here, nil
	})
}

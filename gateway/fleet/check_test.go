package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"syscall"
	"testing"
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

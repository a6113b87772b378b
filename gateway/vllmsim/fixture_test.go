package vllmsim

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"regexp"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
)

// start serves a replica on loopback until the test ends.
func start(t *testing.T, o Options) (*Server, string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if o.Model == "" {
		o.Model = "m"
	}
	o.Logger = slog.New(slog.DiscardHandler)
	s := New(o)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s, ln.Addr().String()
}

var created = regexp.MustCompile(`"created(_at)?":[0-9]+`)

// fixed replaces times of day, so that answers can be compared.
func fixed(body []byte) string { return created.ReplaceAllString(string(body), `"created$1":1`) }

// post sends a body under a known request id.
func post(t *testing.T, address, path, body string) *gatewaytest.Response {
	t.Helper()
	return gatewaytest.Post(t, address, path, body, "X-Request-Id: r1")
}

// decoded reads a JSON answer into T.
func decoded[T any](t *testing.T, answer *gatewaytest.Response) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(answer.Body, &v); err != nil || answer.Status != 200 {
		t.Fatalf("got status %d, body %s (%v)", answer.Status, answer.Body, answer.Err)
	}
	return v
}

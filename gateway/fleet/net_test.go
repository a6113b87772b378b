package fleet

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"sluice/config"
	"sluice/router"
)

// patience is how long a test over real sockets waits for what must come.
const patience = 10 * time.Second

// overSockets runs a fleet over the real network, checked each 10 ms, and returns
// what it publishes.
func overSockets(t *testing.T, pool config.Pool) <-chan []router.Replica {
	t.Helper()
	published := make(chan []router.Replica, 1000)
	f := New(Options{
		Publish: func(list []router.Replica) { published <- list },
		Observe: func(string, router.Load) {},
	})
	cfg := configOf()
	cfg.Health.Interval = 10 * time.Millisecond
	cfg.Pools["large"] = pool
	if err := f.Apply(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { f.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	return published
}

// becomes waits until the one replica is published in a state.
func becomes(t *testing.T, published <-chan []router.Replica, want router.ReplicaState) {
	t.Helper()
	last := "unpublished"
	deadline := time.After(patience)
	for {
		select {
		case list := <-published:
			if last = list[0].State.String(); list[0].State == want {
				return
			}
		case <-deadline:
			t.Fatalf("the replica is %s, want %s", last, want)
		}
	}
}

// serveAt runs a healthy replica at an address until the returned func.
func serveAt(t *testing.T, address string) (actual string, stop func()) {
	t.Helper()
	ln, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	done := make(chan struct{})
	go func() { _ = srv.Serve(ln); close(done) }()
	return ln.Addr().String(), func() { srv.Close(); <-done }
}

// TestRestartOnTheSamePort is the life of a vLLM process: a closed port, an open
// one, a closed one, and an open one again.
func TestRestartOnTheSamePort(t *testing.T) {
	address, stop := serveAt(t, "127.0.0.1:0")
	published := overSockets(t, config.Pool{Replicas: []string{"http://" + address}})
	becomes(t, published, router.Ready)
	stop()
	becomes(t, published, router.Warming)
	_, stop = serveAt(t, address)
	becomes(t, published, router.Ready)
	stop()
}

func TestReplicasByIPv6(t *testing.T) {
	var dialled string
	w, err := newWire("http://[fd00::1]:8000/", dialSpec{}, func(_ context.Context, _, address string) (net.Conn, error) {
		dialled = address
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.health(t.Context(), spec{health: config.Health{Timeout: patience}}); got != refused || dialled != "[fd00::1]:8000" {
		t.Errorf("got %s after dialling %q, want %s after [fd00::1]:8000", got, dialled, refused)
	}
}

func TestReplicasOverTLS(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	if err := os.WriteFile(ca, data, 0o600); err != nil {
		t.Fatal(err)
	}
	becomes(t, overSockets(t, config.Pool{Replicas: []string{srv.URL}, CA: ca}), router.Ready)
}

// TestChecksStayWithTheReplica: a redirect would have another server vouch for
// this one.
func TestChecksStayWithTheReplica(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the check followed a redirect")
	}))
	defer other.Close()
	srv := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer srv.Close()
	w, err := newWire(srv.URL, dialSpec{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.health(t.Context(), spec{health: config.Health{Timeout: patience}}); got != failed {
		t.Errorf("got %s, want %s", got, failed)
	}
}

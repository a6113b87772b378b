package gatewaytest

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// Replica is a scripted raw-TCP server that stands for one vLLM replica. It
// does to each request what the script says and records everything.
//
// GET of /health, /ping, /v1/models and /metrics is answered 200 unless On says
// otherwise; such probes are counted apart and never shown as calls.
type Replica struct {
	t       testing.TB
	address string
	name    string // for URL; "" : the address
	tls     *tls.Config
	stopped chan struct{} // closed at the end of the test

	mu       sync.Mutex // guards all below
	listener net.Listener
	usual    Script
	once     []Script // for the next requests, each used once
	paths    map[string]Script
	probes   map[string]int
	calls    []*Call
	conns    map[net.Conn]struct{}
	accepted int
	running  int
	peak     int
	idle     time.Duration
	resets   bool
	changed  chan struct{} // closed and replaced when calls or running change
	serving  sync.WaitGroup
}

// NewReplica starts a replica on a free loopback port. The script is used for
// every request that no Next or On script takes. It stops at the end of the test.
func NewReplica(t testing.TB, script ...Step) *Replica {
	t.Helper()
	return NewReplicaAt(t, "127.0.0.1:0", script...)
}

// NewReplicaAt is NewReplica at another address, such as "[::1]:0".
func NewReplicaAt(t testing.TB, address string, script ...Step) *Replica {
	t.Helper()
	r := InMemory(t, script...)
	r.address = address
	r.Accept()
	return r
}

// NewTLSReplica is NewReplica behind TLS.
func NewTLSReplica(t testing.TB, cert tls.Certificate, script ...Step) *Replica {
	t.Helper()
	r := InMemory(t, script...)
	r.tls = &tls.Config{Certificates: []tls.Certificate{cert}}
	r.address = "127.0.0.1:0"
	r.Accept()
	return r
}

// InMemory makes a replica that only Dial reaches, without any socket: for
// tests in a testing/synctest bubble. (There a Client's Patience is fake time too.)
func InMemory(t testing.TB, script ...Step) *Replica {
	r := &Replica{t: t, address: "replica.test:80", usual: script, stopped: make(chan struct{}), changed: make(chan struct{}),
		paths: defaultPaths(), probes: map[string]int{}, conns: map[net.Conn]struct{}{}}
	t.Cleanup(r.stop)
	return r
}

// defaultPaths are the answers to what gateways ask besides the real work.
func defaultPaths() map[string]Script {
	healthy := Script{Send(Head(200, "content-length: 0"))}
	metrics := "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine=\"0\",model_name=\"m\"} 0\n"
	return map[string]Script{
		"/health":    healthy,
		"/ping":      healthy,
		"/v1/models": {Send(JSON(200, `{"object":"list","data":[{"id":"m","object":"model","created":1760000000,"owned_by":"vllm","root":"m","parent":null,"max_model_len":8192}]}`))},
		"/metrics":   {Send(Head(200, "content-type: text/plain; version=0.0.4") + metrics), Close()},
	}
}

// Address is host:port.
func (r *Replica) Address() string { return r.address }

// URL is the replica's base URL.
func (r *Replica) URL() string {
	address := r.address
	if r.name != "" {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			panic("BUG: a listener has no port: " + err.Error())
		}
		address = net.JoinHostPort(r.name, port)
	}
	if r.tls != nil {
		return "https://" + address
	}
	return "http://" + address
}

// Named has URL tell a host name. That it leads to the replica is the test's affair.
func (r *Replica) Named(host string) *Replica {
	r.name = host
	return r
}

// Script replaces the usual script, for requests that arrive from now on.
func (r *Replica) Script(script ...Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.usual = script
}

// Next adds a script that one further request uses, before the usual one.
func (r *Replica) Next(script ...Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.once = append(r.once, script)
}

// On sets the script for GET requests of a path, such as "/health".
func (r *Replica) On(path string, script ...Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paths[path] = script
}

// KeepAlive makes the replica close connections that have been idle for d, as
// uvicorn does after 5 s: with a FIN, or with a reset. 0: never.
func (r *Replica) KeepAlive(d time.Duration, reset bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle, r.resets = d, reset
}

// Accept listens (again) on the replica's address.
func (r *Replica) Accept() {
	r.t.Helper()
	ln, err := net.Listen("tcp", r.address)
	if err != nil {
		r.t.Fatalf("listen for a scripted replica: %v", err)
	}
	r.address = ln.Addr().String()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listener = ln
	r.serving.Go(func() { r.acceptAll(ln) })
}

// Refuse closes the listener: new connections are refused, open ones go on.
func (r *Replica) Refuse() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener != nil {
		r.listener.Close()
		r.listener = nil
	}
}

// Crash refuses new connections and resets the open ones.
func (r *Replica) Crash() {
	r.Refuse()
	r.mu.Lock()
	defer r.mu.Unlock()
	for conn := range r.conns {
		reset(conn)
	}
}

// Dial gives an in-memory connection to the replica; its signature is that of
// net.Dialer.DialContext. A replica that refuses accepts these all the same.
func (r *Replica) Dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	r.start(ours)
	return theirs, nil
}

func (r *Replica) acceptAll(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		if r.tls != nil {
			conn = tls.Server(conn, r.tls)
		}
		r.start(conn)
	}
}

// start serves a connection in a goroutine that stop waits for.
func (r *Replica) start(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.accepted++
	r.conns[conn] = struct{}{}
	s := newSession(r, conn, r.accepted)
	r.serving.Go(func() {
		s.serve()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.conns, conn)
	})
}

// stop ends everything and waits for it.
func (r *Replica) stop() {
	close(r.stopped)
	r.Crash()
	r.serving.Wait()
}

// script picks the script for a request; probe says that it is not a call.
func (r *Replica) script(call *Call) (script Script, probe bool) {
	path, _, _ := strings.Cut(call.Path, "?")
	r.mu.Lock()
	defer r.mu.Unlock()
	if script, ok := r.paths[path]; ok && call.Method == "GET" {
		r.probes[path]++
		return script, true
	}
	if len(r.once) > 0 {
		script, r.once = r.once[0], r.once[1:]
		return script, false
	}
	return r.usual, false
}

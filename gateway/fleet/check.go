package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"sluice/gateway/replica"
	"sluice/router"
)

// readEvery is how often a replica's metrics are read. Slots of cancelled
// requests wait for it, so it doesn't follow health.interval.
const readEvery = time.Second

// readSoon is when they are read after a request was given up: long enough for
// most replicas to have dropped its sequences, and at most ten readings a second.
const readSoon = 100 * time.Millisecond

// check runs a member's health checks until ctx ends.
func (f *Fleet) check(ctx context.Context, m *Member) {
	for {
		spec, wire := m.target()
		r := wire.health(ctx, spec)
		if ctx.Err() != nil {
			return
		}
		m.note(time.Now(), r)
		if !m.rest(ctx, spec.health.Interval) {
			return
		}
	}
}

// rest waits for the time of the next check: after the interval, or soon when a
// request got no connection. It reports false when ctx has ended.
func (m *Member) rest(ctx context.Context, interval time.Duration) bool {
	select {
	case <-time.After(jitter(interval)):
		return true
	case <-m.kick:
		return wait(ctx, interval/10)
	case <-ctx.Done():
		return false
	}
}

// read reads a member's metrics until ctx ends, except while it is warming.
func (f *Fleet) read(ctx context.Context, m *Member) {
	for m.restReading(ctx) {
		spec, wire := m.target()
		if m.State() == router.Warming {
			continue
		}
		at := time.Now()
		load, err := wire.load(ctx, spec)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			f.o.Logger.Debug("replica tells no load", "replica", m.address, "error", err)
			continue
		}
		load.At = at
		f.o.Observe(m.address, load)
	}
}

// restReading waits for the time of the next reading: regularly, or soon when
// slots wait to be known free. It reports false when ctx has ended.
func (m *Member) restReading(ctx context.Context) bool {
	select {
	case <-time.After(jitter(readEvery)):
		return true
	case <-m.left:
		return wait(ctx, readSoon)
	case <-ctx.Done():
		return false
	}
}

func (m *Member) target() (spec, *wire) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spec, m.wire
}

// health asks the replica how it is.
func (w *wire) health(ctx context.Context, s spec) result {
	ctx, cancel := context.WithTimeout(ctx, s.health.Timeout)
	defer cancel()
	answer, err := w.get(ctx, "/health", s.key)
	if err != nil {
		return unreached(err)
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
		return ok
	case http.StatusServiceUnavailable:
		return unavailable
	}
	return failed
}

// unreached tells what a health check without an answer found. A name that DNS
// doesn't have is nobody's: so looks a pod that is yet to come, or on its way out.
func unreached(err error) result {
	if replica.Exhausted(err) {
		return unasked
	}
	var dns *net.DNSError
	if errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &dns) && dns.IsNotFound {
		return refused
	}
	return failed
}

// load reads the replica's metrics.
func (w *wire) load(ctx context.Context, s spec) (router.Load, error) {
	ctx, cancel := context.WithTimeout(ctx, s.health.Timeout)
	defer cancel()
	answer, err := w.get(ctx, "/metrics", s.key)
	if err != nil {
		return router.Load{}, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return router.Load{}, fmt.Errorf("GET /metrics: status %d", answer.StatusCode)
	}
	return parseLoad(answer.Body)
}

func (w *wire) get(ctx context.Context, path, key string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(w.address, "/")+path, nil)
	if err != nil {
		return nil, err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return w.checks.Do(req)
}

// jitter spreads checks, so that gateways that started together don't check
// together: ±10 %.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}

// wait reports false when ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

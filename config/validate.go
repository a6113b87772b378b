package config

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Validate checks the whole configuration. The error is Problems: every one,
// each with its path in the file. It reads nothing but c: whether a file exists
// or a replica answers shows when it is used.
func (c *Config) Validate() error { return c.problems().err() }

// problems is what Validate finds, sections in the order of the structs.
func (c *Config) problems() Problems {
	v := &checker{cfg: c}
	v.listeners()
	v.pools()
	v.routes()
	v.tenants()
	v.classification()
	v.relay()
	v.limits()
	v.timeouts()
	v.rest()
	return v.Problems
}

// checker collects the problems of one configuration.
type checker struct {
	cfg *Config
	Problems
}

// check adds a problem unless ok.
func (v *checker) check(ok bool, path, text, fix string) {
	if !ok {
		v.add(path, text, fix)
	}
}

// min demands a number of at least the given one.
func (v *checker) min(path string, got, least int) {
	v.check(got >= least, path, fmt.Sprintf("is %d", got), fmt.Sprintf("must be at least %d", least))
}

// size demands a size within limits, in bytes.
func (v *checker) size(path string, got, least Bytes) {
	v.check(got >= least, path, "is "+got.String(), "must be at least "+least.String())
}

// positive demands a time above 0.
func (v *checker) positive(path string, got time.Duration) {
	v.check(got > 0, path, "is "+got.String(), "must be more than 0")
}

// notNegative demands a time of 0 or more.
func (v *checker) notNegative(path string, got time.Duration) {
	v.check(got >= 0, path, "is "+got.String(), "must be 0 or more")
}

// oneOf demands one of the words; "" stands for none where it is among them.
func (v *checker) oneOf(path, got string, words ...string) {
	if slices.Contains(words, got) {
		return
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	if near := nearest(got, words); near != "" {
		v.add(path, "is "+clip(got), "did you mean "+near+"?")
		return
	}
	v.add(path, "is "+clip(got), "must be "+orList(words))
}

// secret demands at most one source.
func (v *checker) secret(path string, s Secret) {
	v.check(s.File == "" || s.Env == "", path, "has both a file and an env", "keep one of the two")
	v.check(!strings.ContainsAny(s.Env, "= $"), path+".env", "is "+clip(s.Env), "write the name of a variable, without $ and without its value")
}

func (v *checker) listeners() {
	l := v.cfg.Listeners
	v.listener("listeners.data", l.Data)
	v.listener("listeners.ops", l.Ops)
	v.listener("listeners.control", l.Control.Listener)
	v.secret("listeners.control.token", l.Control.Token)
	if host, _, err := net.SplitHostPort(l.Control.Address); err == nil && !loopback(host) && !l.Control.Token.IsSet() {
		v.add("listeners.control.address", l.Control.Address+" can be reached from other machines and has no token",
			"use 127.0.0.1, or set listeners.control.token.file or .env")
	}
	v.overlaps()
}

func (v *checker) listener(path string, l Listener) {
	const shape = "write host:port, such as 127.0.0.1:8080, or :8080 for every interface"
	host, port, err := net.SplitHostPort(l.Address)
	n, portErr := strconv.Atoi(port)
	_, onlyPort := strconv.Atoi(l.Address)
	switch {
	case onlyPort == nil:
		v.add(path+".address", "is a port alone", fmt.Sprintf("write %q for every interface, %q for this machine", ":"+l.Address, "127.0.0.1:"+l.Address))
	case err != nil || portErr != nil:
		v.add(path+".address", clip(l.Address)+" is not an address", shape)
	case n < 0 || n > 65535:
		v.add(path+".address", fmt.Sprintf("port %d is not in 0..65535", n), shape)
	case strings.ContainsAny(host, "/ "):
		v.add(path+".address", clip(l.Address)+" is not an address", shape)
	}
	v.check(l.TLS.Cert == "" || l.TLS.Key != "", path+".tls", "has a cert and no key", "set "+path+".tls.key to the PEM file of its key")
	v.check(l.TLS.Key == "" || l.TLS.Cert != "", path+".tls", "has a key and no cert", "set "+path+".tls.cert to the PEM file of its certificate")
}

// overlaps finds listeners that can't be open together. Port 0 never clashes.
func (v *checker) overlaps() {
	type door struct{ path, address string }
	l := v.cfg.Listeners
	doors := []door{{"listeners.data", l.Data.Address}, {"listeners.ops", l.Ops.Address}, {"listeners.control", l.Control.Address}}
	for i, b := range doors {
		for _, a := range doors[:i] {
			if clash(a.address, b.address) {
				v.add(b.path+".address", fmt.Sprintf("%s is taken by %s (%s)", b.address, a.path, a.address), "give each listener a port of its own")
				break
			}
		}
	}
}

func clash(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || portA == "0" {
		return false
	}
	return strings.EqualFold(hostA, hostB) || wildcard(hostA) || wildcard(hostB) || loopback(hostA) && loopback(hostB)
}

func wildcard(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (v *checker) limits() {
	l := v.cfg.Limits
	v.size("limits.body", l.Body, 1)
	v.size("limits.headers", l.Headers, KiB)
	v.min("limits.header_lines", l.HeaderLines, 1)
	v.min("limits.json_depth", l.JSONDepth, 1)
	v.size("limits.answer", l.Answer, 1)
	v.min("limits.connections", l.Connections, 1)
	v.check(l.HeldBodies >= l.Body, "limits.held_bodies", fmt.Sprintf("is %s, less than one body may have (limits.body is %s)", l.HeldBodies, l.Body),
		"raise it, or lower limits.body")
	v.check(l.HeldAnswers >= l.Answer, "limits.held_answers", fmt.Sprintf("is %s, less than one answer may have (limits.answer is %s)", l.HeldAnswers, l.Answer),
		"raise it, or lower limits.answer")
}

func (v *checker) timeouts() {
	t := v.cfg.Timeouts
	for _, c := range []struct {
		key string
		got time.Duration
	}{
		{"read_headers", t.ReadHeaders},
		{"read_body", t.ReadBody},
		{"connect", t.Connect},
		{"first_event", t.FirstEvent},
		{"between_events", t.BetweenEvents},
		{"write_stall", t.WriteStall},
		{"idle_client", t.IdleClient},
		{"idle_replica", t.IdleReplica},
		{"release_after_cancel", t.ReleaseAfterCancel},
		{"drain", t.Drain},
	} {
		v.positive("timeouts."+c.key, c.got)
	}
	v.notNegative("timeouts.first_event_per_4k", t.FirstEventPer4K)
	v.notNegative("timeouts.per_token_unstreamed", t.PerTokenUnstreamed)
	v.notNegative("timeouts.drain_delay", t.DrainDelay)
}

// rest is the small sections: health, retry, log.
func (v *checker) rest() {
	h, r := v.cfg.Health, v.cfg.Retry
	v.positive("health.interval", h.Interval)
	v.positive("health.timeout", h.Timeout)
	v.min("health.failures_open", h.FailuresOpen, 1)
	v.positive("health.open_for", h.OpenFor)
	v.check(r.Budget >= 0 && r.Budget <= 1, "retry.budget", fmt.Sprintf("is %v", r.Budget), "must be from 0 to 1: retries per request")
	v.min("retry.budget_min", r.BudgetMin, 0)
	v.oneOf("log.level", v.cfg.Log.Level, "debug", "info", "warn", "error")
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

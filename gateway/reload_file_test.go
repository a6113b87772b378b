package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
)

// TestBadReloadsChangeNothing: not by bad contents, nor by files that can't be used.
func TestBadReloadsChangeNothing(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	good := poolPolicyYAML(4, rep.URL())
	r := startFile(t, good)
	s := holdStreams(t, r.rig, 2, rep)
	missing := filepath.Join(t.TempDir(), "missing.pem")
	cert, key := gatewaytest.CertificateFiles(t, certificate(t))
	for name, content := range map[string]string{
		"broken YAML":       loopbackDoors + good + "\n  : : [",
		"empty file":        "",
		"duplicate replica": loopbackDoors + poolPolicyYAML(4, rep.URL(), rep.URL()),
		"unknown key":       loopbackDoors + strings.Replace(good, "cap:", "kap:", 1),
		"negative cap":      loopbackDoors + poolPolicyYAML(-1, rep.URL()),
		"no such CA":        loopbackDoors + strings.Replace(good, "model: served", "model: served, ca: "+missing, 1),
		"no such key":       loopbackDoors + strings.Replace(good, "model: served", "model: served, api_key: {file: "+missing+"}", 1),
		"no such certificate": "listeners: {data: {address: \"127.0.0.1:0\", tls: {cert: " + missing + ", key: " + key + "}}}\n" +
			poolPolicyYAML(1, rep.URL()),
		"key of another certificate": "listeners: {data: {address: \"127.0.0.1:0\", tls: {cert: " + cert + ", key: " + otherKey(t) + "}}}\n" +
			poolPolicyYAML(1, rep.URL()),
	} {
		r.refused(name, content)
	}
	if err := os.Remove(r.path); err != nil {
		t.Fatal(err)
	}
	r.refused("file removed", "")
	r.reload(good)
	if ok := sum(r.metrics(), "sluice_config_last_reload_success"); ok != 1 {
		t.Errorf("after a good reload config_last_reload_success is %v", ok)
	}
	s.end()
	r.quiet()
}

// refused reloads content that must change nothing.
func (e *edited) refused(name, content string) {
	e.t.Helper()
	before, logged := e.g.policies.get().cfg, strings.Count(e.log.String(), "reload refused")
	if content != "" || name == "empty file" {
		e.writeRaw(content)
	}
	_, err := e.g.Reload()
	if err == nil {
		e.t.Errorf("%s: reloaded", name)
		return
	}
	if e.g.policies.get().cfg != before || e.ready() != 1 {
		e.t.Errorf("%s: something has changed", name)
	}
	if ok := sum(e.metrics(), "sluice_config_last_reload_success"); ok != 0 {
		e.t.Errorf("%s: config_last_reload_success is %v", name, ok)
	}
	lines := 1 + strings.Count(err.Error(), "\n")
	if n := strings.Count(e.log.String(), "reload refused") - logged; n != lines {
		e.t.Errorf("%s: %d lines logged, want a line for each of %d problems: %v", name, n, lines, err)
	}
	if answer := e.post(gatewaytest.ChatBody("m", "hi", false)); answer.Status != 200 {
		e.t.Errorf("%s: then a call got %d", name, answer.Status)
	}
}

// TestEachWayOfChangingTheFile: in place, renamed over, and as Kubernetes does it.
func TestEachWayOfChangingTheFile(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	policy := func(total int) string { return loopbackDoors + poolPolicyYAML(total, rep.URL()) }
	r := startFile(t, poolPolicyYAML(40, rep.URL()))
	r.configMap(policy(40))
	r.watch(r.path)
	s := holdStreams(t, r.rig, 20, rep)
	stopCalls := keepCalling(t, r.rig, "m")
	total := 40
	change := func(name string, write func(content string)) {
		t.Helper()
		total++
		write(policy(total))
		eventually(t, name+" is in force", func() bool { return r.replicaOf(rep).Cap == total })
	}
	change("a symlink swap", r.configMap)
	change("a rename", r.writeAtomic)
	reloads := r.reloadsCounted()
	r.must(os.Chtimes(r.path, time.Unix(1, 0), time.Unix(1, 0)))
	change("a change after a touch", r.writeAtomic)
	if n := r.reloadsCounted() - reloads; n != 1 {
		t.Errorf("%v reloads after a touch and a change, want 1", n)
	}
	change("a rewrite in two writes", func(content string) {
		f, err := os.Create(r.path)
		r.must(err)
		for _, half := range []string{content[:len(content)/2], content[len(content)/2:]} {
			_, err = f.WriteString(half)
			r.must(err)
		}
		r.must(f.Close())
	})
	change("delete and create", func(content string) { r.must(os.Remove(r.path)); r.writeRaw(content) })
	change("the last of two changes at once", func(content string) { r.writeRaw(policy(99)); r.writeRaw(content) })
	stopCalls()
	s.end()
	r.quiet()
}

func (e *edited) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

// reloadsCounted is how many there were; none is under way.
func (e *edited) reloadsCounted() float64 {
	e.t.Helper()
	e.g.reloads.Lock()
	defer e.g.reloads.Unlock()
	return sum(e.metrics(), "sluice_config_reloads_total")
}

// TestReloadsAtOnce runs them side by side with requests, for the race detector:
// the last content counts.
func TestReloadsAtOnce(t *testing.T) {
	a, b := gatewaytest.NewReplica(t, shortAnswer...), gatewaytest.NewReplica(t, shortAnswer...)
	r := startFile(t, poolPolicyYAML(8, a.URL(), b.URL()))
	stopCalls := keepCalling(t, r.rig, "m")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 5 {
				r.writeAtomic(loopbackDoors + poolPolicyYAML(10+8*j+i, a.URL(), b.URL()))
				_, _ = r.g.Reload()
			}
		})
	}
	all.Wait()
	r.writeAtomic(loopbackDoors + poolPolicyYAML(3, a.URL(), b.URL()))
	answer := gatewaytest.Target{Address: r.control}.Fetch(t, "POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
	if answer.Status != 200 || r.replicaOf(a).Cap != 3 {
		t.Errorf("status %d, replica %+v, want a cap of 3", answer.Status, r.replicaOf(a))
	}
	stopCalls()
	r.quiet()
}

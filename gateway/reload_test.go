package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/config"
	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// edited is a gateway whose configuration is a file that a test edits.
type edited struct {
	*rig
	path string
}

// startFile runs a gateway on a file with this policy.
func startFile(t *testing.T, policy string, ready ...int) *edited {
	t.Helper()
	e := &edited{path: filepath.Join(t.TempDir(), "sluice.yaml")}
	e.rig = &rig{t: t}
	e.write(policy)
	load := func() (*config.Config, error) { return config.Load(e.path, nil, nil) }
	cfg, err := load()
	if err != nil {
		t.Fatal(err)
	}
	e.rig = startWith(t, Options{Config: cfg, Load: load}, ready...)
	return e
}

func (e *edited) write(policy string) {
	e.t.Helper()
	e.writeRaw(loopbackDoors + policy)
}

func (e *edited) writeRaw(content string) {
	e.t.Helper()
	if err := os.WriteFile(e.path, []byte(content), 0o600); err != nil {
		e.t.Fatal(err)
	}
}

// reload writes a policy and puts it in force.
func (e *edited) reload(policy string) Reloaded {
	e.t.Helper()
	e.write(policy)
	done, err := e.g.Reload()
	if err != nil {
		e.t.Fatal(err)
	}
	return done
}

// replicaOf is what the router knows of a scripted replica; Cap -1: nothing.
func (r *rig) replicaOf(rep *gatewaytest.Replica) (found router.ReplicaReport) {
	found.Cap = -1
	r.eachReplica(func(s router.ReplicaReport) {
		if s.Address == rep.URL() {
			found = s
		}
	})
	return found
}

// heldStreams are answers that run until they are let go.
type heldStreams struct {
	t       *testing.T
	letGo   chan struct{}
	answers []chan *gatewaytest.Response
}

// script is a stream whose first token comes at once and whose end waits.
func (s *heldStreams) script() gatewaytest.Script {
	return gatewaytest.Script{
		gatewaytest.Send(gatewaytest.SSEHead),
		gatewaytest.Chunks(gatewaytest.Role, gatewaytest.Content("a")),
		gatewaytest.Wait(s.letGo),
		gatewaytest.Chunks(gatewaytest.Finish("b", "stop"), gatewaytest.Done),
		gatewaytest.Send(gatewaytest.FinalChunk),
	}
}

var shortAnswer = gatewaytest.Script{gatewaytest.Send(gatewaytest.ChatAnswer("yes", "stop", 5, 1))}

// holdStreams starts n streams of the route m over the replicas, and then leaves the
// replicas with short answers.
func holdStreams(t *testing.T, r *rig, n int, replicas ...*gatewaytest.Replica) *heldStreams {
	t.Helper()
	s := &heldStreams{t: t, letGo: make(chan struct{})}
	for _, rep := range replicas {
		rep.Script(s.script()...)
	}
	for range n {
		s.ask(r, gatewaytest.ChatBody("m", "hi", true))
	}
	running := func() (all int) {
		for _, rep := range replicas {
			all += rep.Running()
		}
		return all
	}
	eventually(t, fmt.Sprintf("%d streams run", n), func() bool {
		return running() == n && sum(r.metrics(), "sluice_requests_in_flight", `state="streaming"`) == float64(n)
	})
	for _, rep := range replicas {
		rep.Script(shortAnswer...)
	}
	return s
}

// ask sends a request whose answer end waits for.
func (s *heldStreams) ask(r *rig, body string) {
	answer := make(chan *gatewaytest.Response, 1)
	s.answers = append(s.answers, answer)
	go func() { answer <- gatewaytest.Post(s.t, r.data, "/v1/chat/completions", body) }()
}

// end lets the streams go and checks that none was cut.
func (s *heldStreams) end() {
	s.t.Helper()
	close(s.letGo)
	for i, c := range s.answers {
		if a := <-c; a.Status != 200 || a.Ending != gatewaytest.Whole || len(a.Body) == 0 {
			s.t.Errorf("answer %d: status %d, ending %v, error %v, body %s", i, a.Status, a.Ending, a.Err, a.Body)
		}
	}
}

// keepCalling sends short calls one after the other until stop, and checks that
// all of them are answered.
func keepCalling(t *testing.T, r *rig, model string) (stop func()) {
	over := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			if a := r.post(gatewaytest.ChatBody(model, "hi", false)); a.Status != 200 {
				t.Errorf("a call during reloads: status %d, %v, %s", a.Status, a.Err, a.Body)
				return
			}
		}
	})
	return func() { close(over); all.Wait() }
}

// splitPools has a pool p for the route m and a pool q for the route other.
func splitPools(p, q []string) string {
	return fmt.Sprintf(`
pools:
  p: {model: served-p, replicas: [%s], cap: {total: 30}}
  q: {model: served-q, replicas: [%s], cap: {total: 30}}
routes:
  m: {prefill: {pools: [{pool: p}]}, decode: {pools: [{pool: p}]}}
  other: {prefill: {pools: [{pool: q}]}, decode: {pools: [{pool: q}]}}
health: {interval: 20ms}
`, strings.Join(p, ", "), strings.Join(q, ", "))
}

// TestReloadsCutNoStream goes through the contents of field report B58 while 20
// streams run and calls arrive.
func TestReloadsCutNoStream(t *testing.T) {
	a, b := gatewaytest.NewReplica(t), gatewaytest.NewReplica(t)
	urls := []string{a.URL(), b.URL()}
	r := startFile(t, poolPolicyYAML(30, urls...))
	s := holdStreams(t, r.rig, 20, a, b)
	stopCalls := keepCalling(t, r.rig, "m")

	done := r.reload(poolPolicyYAML(25, urls...))
	if want := []string{"pools.p.cap.total: 30 → 25"}; !slices.Equal(done.Changes, want) || r.replicaOf(a).Cap != 25 {
		t.Errorf("lower cap: changes %q, want %q, replica %+v", done.Changes, want, r.replicaOf(a))
	}
	r.reload(poolPolicyYAML(25, a.URL())) // without b, which 10 streams are on
	if rep := r.replicaOf(b); rep.Listed || rep.Active.Total() < 10 {
		t.Errorf("removed replica: %+v, want it to hold its streams and to get nothing", rep)
	}
	calls := len(b.Calls())
	r.post(gatewaytest.ChatBody("m", "hi", false))
	if n := len(b.Calls()); n != calls {
		t.Errorf("a removed replica got %d calls", n-calls)
	}
	r.reload(splitPools(urls[:1], urls[1:])) // b comes back, in another pool
	if rep := r.replicaOf(b); !rep.Listed || rep.Active.Total() < 10 {
		t.Errorf("replica that has moved: %+v, want it to hold its streams still", rep)
	}
	eventually(t, "the replica that has moved is ready", func() bool { return r.ready() == 2 })
	if answer := r.post(gatewaytest.ChatBody("other", "hi", false)); answer.Status != 200 || answer.Header.Get("x-sluice-pool") != "q" {
		t.Errorf("a replica's new pool: status %d, pool %q", answer.Status, answer.Header.Get("x-sluice-pool"))
	}
	r.reload(strings.ReplaceAll(splitPools(urls[:1], urls[1:]), "30", "64"))
	stopCalls()
	s.end()
	r.quiet()
	if n := r.outcomes(router.Completed); n != int(sum(r.metrics(), "sluice_requests_received_total")) {
		t.Errorf("%d requests of all completed", n)
	}
}

// TestALoweredCapHoldsBack: nothing new comes until the count is below.
func TestALoweredCapHoldsBack(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	r := startFile(t, poolPolicyYAML(4, rep.URL()))
	s := holdStreams(t, r.rig, 4, rep)
	r.reload(poolPolicyYAML(1, rep.URL()))
	s.ask(r.rig, gatewaytest.ChatBody("m", "hi", false))
	eventually(t, "the new request waits", func() bool { return r.waiting() == 1 })
	if got := r.replicaOf(rep); got.Admits != 1 || got.Active.Total() != 4 {
		t.Errorf("replica %+v, want 4 active, and 1 admitted", got)
	}
	s.end()
	r.quiet()
	if n := rep.Peak(); n != 4 {
		t.Errorf("%d calls ran at once, want 4", n)
	}
}

// TestWaitersMoveToANewPool: a request that waits while its pool is renamed is
// sent under the model's new name.
func TestWaitersMoveToANewPool(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	r := startFile(t, poolPolicyYAML(1, rep.URL()))
	s := holdStreams(t, r.rig, 1, rep)
	s.ask(r.rig, gatewaytest.ChatBody("m", "hi", false))
	eventually(t, "the second request waits", func() bool { return r.waiting() == 1 })
	renamed := strings.NewReplacer("p: {model", "new: {model", "pool: p", "pool: new", "served", "served-anew").Replace(poolPolicyYAML(1, rep.URL()))
	r.reload(renamed)
	s.end()
	if body := string(rep.Call(1).Body); !strings.Contains(body, `"model":"served-anew"`) {
		t.Errorf("the request that waited was sent as %s", body)
	}
	r.quiet()
}

// TestBadReloadsChangeNothing has the bad contents of field report B58, and
// files that can't be used.
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
	before, logged := e.g.Config(), strings.Count(e.log.String(), "reload refused")
	if content != "" || name == "empty file" {
		e.writeRaw(content)
	}
	_, err := e.g.Reload()
	if err == nil {
		e.t.Errorf("%s: reloaded", name)
		return
	}
	if e.g.Config() != before || e.ready() != 1 {
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

// watch reloads on changes of the file, looked at each 10 ms, until the test ends.
func (e *edited) watch(path string) {
	ctx, cancel := context.WithCancel(context.Background())
	w := config.NewWatcher(path)
	var all sync.WaitGroup
	all.Go(func() { w.Run(ctx, 10*time.Millisecond, func() { _, _ = e.g.Reload() }) })
	e.t.Cleanup(func() { cancel(); all.Wait() })
}

// TestEachWayOfChangingTheFile is the other half of field report B58.
func TestEachWayOfChangingTheFile(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	policy := func(total int) string { return loopbackDoors + poolPolicyYAML(total, rep.URL()) }
	r := startFile(t, poolPolicyYAML(40, rep.URL()))
	r.configMap(policy(40))
	r.watch(r.path)
	s := holdStreams(t, r.rig, 20, rep)
	stopCalls := keepCalling(t, r.rig, "m")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	cap := 41
	for _, way := range []struct {
		name   string
		change func(content string)
	}{
		{"symlink swap", r.configMap},
		{"rename over", func(content string) {
			must(os.WriteFile(r.path+".new", []byte(content), 0o600))
			must(os.Rename(r.path+".new", r.path))
		}},
		{"rewrite in two writes", func(content string) {
			f, err := os.Create(r.path)
			must(err)
			_, err = f.WriteString(content[:len(content)/2])
			must(err)
			_, err = f.WriteString(content[len(content)/2:])
			must(err)
			must(f.Close())
		}},
		{"delete and create", func(content string) { must(os.Remove(r.path)); r.writeRaw(content) }},
		{"twice at once", func(content string) { r.writeRaw(policy(99)); r.writeRaw(content) }},
	} {
		cap++
		way.change(policy(cap))
		eventually(t, way.name+" is in force", func() bool { return r.replicaOf(rep).Cap == cap })
	}
	reloads := sum(r.metrics(), "sluice_config_reloads_total")
	must(os.Chtimes(r.path, time.Unix(1, 0), time.Unix(1, 0)))
	r.writeRaw(policy(50)) // a change that is seen shows that the touch was not
	eventually(t, "the last content is in force", func() bool { return r.replicaOf(rep).Cap == 50 })
	if n := sum(r.metrics(), "sluice_config_reloads_total") - reloads; n != 1 {
		t.Errorf("%v reloads after a touch and a change, want 1", n)
	}
	stopCalls()
	s.end()
	r.quiet()
}

// configMap makes the file what the kubelet makes of it: a link to a file in a
// directory whose name is a link, which is renamed over.
func (e *edited) configMap(content string) {
	e.t.Helper()
	dir := filepath.Dir(e.path)
	version, err := os.MkdirTemp(dir, "..v")
	if err == nil {
		err = os.WriteFile(filepath.Join(version, "sluice.yaml"), []byte(content), 0o600)
	}
	if err == nil {
		err = os.Symlink(version, filepath.Join(dir, "..data_tmp"))
	}
	if err == nil {
		err = os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data"))
	}
	if _, no := os.Readlink(e.path); err == nil && no != nil {
		_ = os.Remove(e.path) // the plain file that was there
		err = os.Symlink(filepath.Join("..data", "sluice.yaml"), e.path)
	}
	if err != nil {
		e.t.Fatal(err)
	}
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

func (e *edited) writeAtomic(content string) {
	f, err := os.CreateTemp(filepath.Dir(e.path), "new")
	if err == nil {
		_, err = f.WriteString(content)
		f.Close()
	}
	if err == nil {
		err = os.Rename(f.Name(), e.path)
	}
	if err != nil {
		e.t.Error(err)
	}
}

// TestBreakersOutliveAReload: an open one stays open.
func TestBreakersOutliveAReload(t *testing.T) {
	bad, good := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.Error(500, "InternalServerError", "no"))), gatewaytest.NewReplica(t, shortAnswer...)
	policy := func(total int) string {
		return strings.Replace(poolPolicyYAML(total, bad.URL(), good.URL()), "open_for: 200ms", "open_for: 1h", 1)
	}
	r := startFile(t, policy(4))
	eventually(t, "the breaker opens", func() bool {
		r.post(gatewaytest.ChatBody("m", "hi", false))
		return r.replicaOf(bad).State == router.Open
	})
	r.reload(policy(5))
	eventually(t, "the new policy is published", func() bool { return r.replicaOf(bad).Cap == 5 })
	if got := r.replicaOf(bad); got.State != router.Open || got.Granted < 3 {
		t.Errorf("after the reload: %+v, want it open, with its history", got)
	}
}

// TestWhatTakesEffectWithoutARestart, and what the log says of the rest.
func TestWhatTakesEffectWithoutARestart(t *testing.T) {
	rep := gatewaytest.NewReplica(t, shortAnswer...)
	policy := poolPolicyYAML(4, rep.URL())
	r := startFile(t, policy+"limits: {body: 1KiB}\nlog: {level: warn}\n")
	large := gatewaytest.ChatBody("m", strings.Repeat("x", 20<<10), false)
	if answer := r.post(large); answer.Status != 413 {
		t.Fatalf("status %d, want 413", answer.Status)
	}
	done := r.reload(policy + "limits: {body: 64KiB}\nlog: {level: info}\n")
	if len(done.Restart) != 0 {
		t.Errorf("needs a restart: %q, want nothing", done.Restart)
	}
	if answer := r.post(large); answer.Status != 200 {
		t.Errorf("after limits.body was raised: status %d", answer.Status)
	}
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(large), large)
	raw := "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked
	if answer := (gatewaytest.Target{Address: r.data}).Fetch(t, raw); answer.Status != 200 {
		t.Errorf("after limits.body was raised, chunked: status %d", answer.Status)
	}
	const later = "limits: {headers: 8KiB}\nlog: {access: false}\ntimeouts: {read_headers: 5s, idle_client: 60s, write_stall: 9s, drain: 1s}\n"
	done = r.reload(policy + later)
	want := []string{
		"limits.headers: 32KiB → 8KiB", "log.access: true → false",
		"timeouts.idle_client: 2m0s → 1m0s", "timeouts.read_headers: 10s → 5s", "timeouts.write_stall: 30s → 9s",
	}
	if !slices.Equal(done.Restart, want) {
		t.Errorf("needs a restart: %q, want %q", done.Restart, want)
	}
	if n := strings.Count(r.log.String(), "this change needs a restart"); n != len(want) {
		t.Errorf("%d warnings, want %d", n, len(want))
	}
	if done = r.reload(policy + later + "relay: {decision_headers: false}\n"); !slices.Equal(done.Restart, want) {
		t.Errorf("still needs a restart: %q, want %q", done.Restart, want)
	}
	if done = r.reload(policy); len(done.Restart) != 0 {
		t.Errorf("taken back: %q still needs a restart", done.Restart)
	}
}

// TestTheLogFollowsItsLevel without a restart, when the gateway was given it.
func TestTheLogFollowsItsLevel(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	r := startFile(t, poolPolicyYAML(1, rep.URL()))
	for _, level := range []string{"debug", "error", "info"} {
		r.reload(poolPolicyYAML(1, rep.URL()) + "log: {level: " + level + "}\n")
		if got := strings.ToLower(r.g.level.Level().String()); got != level {
			t.Errorf("the level is %s, want %s", got, level)
		}
	}
}

// TestReloadByHTTP is the answer of POST /-/reload.
func TestReloadByHTTP(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	r := startFile(t, poolPolicyYAML(4, rep.URL()))
	for _, c := range []struct {
		content  string
		status   int
		problems int
		change   string
	}{
		{loopbackDoors + poolPolicyYAML(4, rep.URL()), 200, 0, ""},
		{loopbackDoors + poolPolicyYAML(6, rep.URL()), 200, 0, "pools.p.cap.total: 4 → 6"},
		{loopbackDoors + strings.Replace(poolPolicyYAML(-6, rep.URL()), "health:", "helth:", 1), 422, 2, ""},
	} {
		r.writeRaw(c.content)
		answer := gatewaytest.Target{Address: r.control}.Fetch(t, "POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
		var got reloadAnswer
		if err := json.Unmarshal(answer.Body, &got); err != nil {
			t.Fatal(err)
		}
		ok := answer.Status == c.status && got.Reloaded == (c.problems == 0) && len(got.Problems) == c.problems &&
			strings.Join(got.Changes, "; ") == c.change && got.Restart != nil
		if !ok {
			t.Errorf("status %d, %s; want %d, %d problems, change %q", answer.Status, answer.Body, c.status, c.problems, c.change)
		}
	}
}

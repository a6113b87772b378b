package gateway

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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

// watch reloads on changes of the file, looked at each 10 ms, until the test ends.
func (e *edited) watch(path string) {
	ctx, cancel := context.WithCancel(context.Background())
	w := config.NewWatcher(path)
	var all sync.WaitGroup
	all.Go(func() { w.Run(ctx, 10*time.Millisecond, func() { _, _ = e.g.Reload() }) })
	e.t.Cleanup(func() { cancel(); all.Wait() })
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

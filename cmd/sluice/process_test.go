package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
)

// running is `sluice serve` as a process of its own.
type running struct {
	*testing.T
	cmd                *exec.Cmd
	data, ops, control string
	took               time.Duration // from exec to an answer
	files              int           // its limit on open files; 0: this process's own
	exited             chan error

	mu     sync.Mutex // guards stderr and stdout
	stderr bytes.Buffer
	stdout bytes.Buffer
}

// sink is a stream of the process.
type sink struct {
	r    *running
	into *bytes.Buffer
}

func (s sink) Write(p []byte) (int, error) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	return s.into.Write(p)
}

func (r *running) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stderr.String()
}

var servingLine = regexp.MustCompile(`msg=serving data=(\S+) ops=(\S+) control=(\S+)`)

// launch runs the test binary as sluice on a file, and waits until it is ready.
func launch(t *testing.T, file string) *running {
	t.Helper()
	r := &running{T: t, exited: make(chan error, 1)}
	r.launch(file, sink{r, &r.stdout})
	return r
}

// launch starts the process, its access log going to stdout.
func (r *running) launch(file string, stdout io.Writer) {
	r.Helper()
	r.cmd = exec.Command(os.Args[0], "serve", "--config", file)
	if r.files > 0 {
		r.cmd = exec.Command("sh", "-c", `ulimit -n "$0" && exec "$@"`, fmt.Sprint(r.files), os.Args[0], "serve", "--config", file)
	}
	r.cmd.Env = append(os.Environ(), asSluice+"=1", "GORACE=atexit_sleep_ms=0")
	r.cmd.Stderr, r.cmd.Stdout = sink{r, &r.stderr}, stdout
	started := time.Now()
	if err := r.cmd.Start(); err != nil {
		r.Fatal(err)
	}
	go func() { r.exited <- r.cmd.Wait() }()
	r.Cleanup(func() { _ = r.cmd.Process.Kill() }) // it has ended, unless the test failed
	r.until("it serves", func() bool {
		m := servingLine.FindStringSubmatch(r.log())
		if m != nil {
			r.data, r.ops, r.control = m[1], m[2], m[3]
		}
		return m != nil
	})
	r.until("it is alive", func() bool { return gatewaytest.Get(r.T, r.ops, "/healthz").Status == 200 })
	r.took = time.Since(started)
	r.until("it is ready", func() bool { return gatewaytest.Get(r.T, r.ops, "/readyz").Status == 200 })
}

func (r *running) until(what string, holds func() bool) {
	r.Helper()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	late := time.After(gatewaytest.Patience)
	for !holds() {
		select {
		case <-look.C:
		case <-late:
			r.Fatalf("not within %v: %s\n%s", gatewaytest.Patience, what, r.log())
		}
	}
}

func (r *running) signal(s os.Signal) {
	r.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.Fatal(err)
	}
}

// ends waits for the exit code.
func (r *running) ends(code int) {
	r.Helper()
	select {
	case err := <-r.exited:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			r.Fatal(err)
		}
		if got := r.cmd.ProcessState.ExitCode(); got != code {
			r.Errorf("exit code %d, want %d\n%s", got, code, r.log())
		}
	case <-time.After(gatewaytest.Patience):
		r.Fatalf("it doesn't end\n%s", r.log())
	}
}

// metric is one series of a scrape.
func (r *running) metric(name string) (value float64) {
	r.Helper()
	answer, err := http.Get("http://" + r.ops + "/metrics")
	if err != nil {
		r.Fatal(err)
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if rest, found := strings.CutPrefix(lines.Text(), name+" "); found {
			_, err = fmt.Sscan(rest, &value)
		}
	}
	if err != nil {
		r.Fatal(err)
	}
	return value
}

// cap is the total cap of the first replica, as the state tells it.
func (r *running) cap() int {
	r.Helper()
	answer, err := http.Get("http://" + r.control + "/api/state")
	if err != nil {
		r.Fatal(err)
	}
	defer answer.Body.Close()
	var state struct {
		Pools []struct{ Replicas []struct{ Cap int } }
	}
	if err := json.NewDecoder(answer.Body).Decode(&state); err != nil {
		r.Fatal(err)
	}
	return state.Pools[0].Replicas[0].Cap
}

// policyFile is a configuration with one pool, whose key is in a file beside it.
func policyFile(t *testing.T) (file string, write func(total int, rep *gatewaytest.Replica)) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "sluice.yaml")
	writeKey(t, file, "old-key")
	return file, func(total int, rep *gatewaytest.Replica) {
		t.Helper()
		content := fmt.Sprintf(`
listeners: {data: {address: "127.0.0.1:0"}, ops: {address: "127.0.0.1:0"}, control: {address: "127.0.0.1:0"}}
pools: {p: {model: served, replicas: [%s], cap: {total: %d}, engine: {max_model_len: 8192, max_num_seqs: 256}, api_key: {file: %s}}}
routes: {m: {prefill: {pools: [{pool: p}]}, decode: {pools: [{pool: p}]}}}
`, rep.URL(), total, file+".key")
		if err := os.WriteFile(file+".new", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
}

func writeKey(t *testing.T, file, key string) {
	t.Helper()
	if err := os.WriteFile(file+".key", []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTheProcessReloads on SIGHUP, on a change of the file, and on one of a file
// that it names; and outlives a bad one.
func TestTheProcessReloads(t *testing.T) {
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("yes", "stop", 5, 1)))
	file, write := policyFile(t)
	write(4, rep)
	r := launch(t, file)
	t.Logf("from exec to an answer: %v (a test binary)", r.took.Round(time.Millisecond))
	r.signal(syscall.SIGHUP)
	r.until("SIGHUP reloads", func() bool { return r.metric(`sluice_config_reloads_total{result="success"}`) == 2 })
	since := time.Now()
	write(7, rep)
	r.until("a change of the file is in force", func() bool { return r.cap() == 7 })
	if took := time.Since(since); took > 5*time.Second {
		t.Errorf("in force after %v, want at most 5s", took)
	}
	writeKey(t, file, "new-key")
	r.until("a change of a key is in force", func() bool { return r.metric(`sluice_config_reloads_total{result="success"}`) == 4 })
	gatewaytest.Post(t, r.data, "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", false))
	if key := rep.Call(0).Header.Get("Authorization"); key != "Bearer new-key" {
		t.Errorf("the replica got %q", key)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.signal(syscall.SIGHUP)
	r.until("a bad file is refused", func() bool { return r.metric("sluice_config_last_reload_success") == 0 })
	if r.cap() != 7 || !strings.Contains(r.log(), "reload refused") || !strings.Contains(r.log(), "sluice.yaml: is empty") {
		t.Errorf("cap %d, log\n%s", r.cap(), r.log())
	}
	r.signal(syscall.SIGTERM)
	r.ends(exitOK)
}

// TestTheProcessStops in good order: a stream that runs ends well.
func TestTheProcessStops(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			letGo := make(chan struct{})
			rep := gatewaytest.NewReplica(t,
				gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(gatewaytest.Role, gatewaytest.Content("a")), gatewaytest.Wait(letGo),
				gatewaytest.Chunks(gatewaytest.Finish("b", "stop"), gatewaytest.Done), gatewaytest.Send(gatewaytest.FinalChunk))
			file, write := policyFile(t)
			write(4, rep)
			r := launch(t, file)
			answer := make(chan *gatewaytest.Response, 1)
			go func() {
				answer <- gatewaytest.Post(t, r.data, "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", true))
			}()
			rep.WaitRunning(1)
			r.signal(sig)
			r.until("/readyz says no", func() bool { return gatewaytest.Get(t, r.ops, "/readyz").Status == 503 })
			close(letGo)
			if a := <-answer; a.Status != 200 || a.Ending != gatewaytest.Whole {
				t.Errorf("the stream: status %d, ending %v", a.Status, a.Ending)
			}
			r.ends(exitOK)
			r.mu.Lock()
			defer r.mu.Unlock()
			if !strings.Contains(r.stdout.String(), `"outcome":"completed"`) {
				t.Errorf("no line of the request in the access log:\n%s", r.stdout.String())
			}
		})
	}
}

// TestTheProcessOutlivesTheReaderOfItsLog: `sluice serve | something` serves on
// when that something ends.
func TestTheProcessOutlivesTheReaderOfItsLog(t *testing.T) {
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("yes", "stop", 5, 1)))
	file, write := policyFile(t)
	write(4, rep)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r := &running{T: t, exited: make(chan error, 1)}
	r.launch(file, writer)
	writer.Close()
	reader.Close()
	r.until("a line of the log is lost, and it serves", func() bool {
		answer := gatewaytest.Post(t, r.data, "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", false))
		return answer.Status == 200 && r.metric("sluice_access_log_lines_lost_total") > 0
	})
	r.signal(syscall.SIGTERM)
	r.ends(exitOK)
}

// TestTheSecondSignalEndsTheProcess although the grace period is long.
func TestTheSecondSignalEndsTheProcess(t *testing.T) {
	rep := gatewaytest.NewReplica(t,
		gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(gatewaytest.Role, gatewaytest.Content("a")), gatewaytest.Stall())
	file, write := policyFile(t)
	write(4, rep)
	r := launch(t, file)
	answer := make(chan *gatewaytest.Response, 1)
	go func() {
		answer <- gatewaytest.Post(t, r.data, "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", true))
	}()
	rep.WaitRunning(1)
	r.signal(syscall.SIGTERM)
	r.until("it drains", func() bool { return strings.Contains(r.log(), "msg=draining") })
	r.signal(syscall.SIGTERM)
	r.ends(exitOK)
	if a := <-answer; a.Ending != gatewaytest.Cut && a.Status != 503 {
		t.Errorf("the stream: status %d, ending %v", a.Status, a.Ending)
	}
	rep.Call(0).WaitGone(t)
}

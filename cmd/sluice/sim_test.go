package main

import (
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"sluice/gateway/gatewaytest"
)

var simulatedLine = regexp.MustCompile(`at http://(\S+);`)

// simulateReplica runs `sluice sim` as a process of its own on a free port.
func simulateReplica(t *testing.T, args string, env ...string) *running {
	t.Helper()
	r := &running{T: t, exited: make(chan error, 1)}
	r.cmd = exec.Command(os.Args[0], append([]string{"sim", "--port", "0"}, strings.Fields(args)...)...)
	r.cmd.Env = append(append(os.Environ(), env...), asSluice+"=1", "GORACE=atexit_sleep_ms=0")
	r.cmd.Stderr, r.cmd.Stdout = sink{r, &r.stderr}, sink{r, &r.stdout}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.exited <- r.cmd.Wait() }()
	t.Cleanup(func() { _ = r.cmd.Process.Kill() }) // it has ended, unless the test failed
	r.until("it says where it listens", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		m := simulatedLine.FindStringSubmatch(r.stdout.String())
		if m != nil {
			r.data = m[1]
		}
		return m != nil
	})
	return r
}

const chat = `{"model":"m","stream":true,"max_tokens":20,"ignore_eos":true,"messages":[{"role":"user","content":"hello"}]}`

// A replica has vLLM's flags, fails on demand, comes back after a crash, and stops.
func TestSimulatedReplica(t *testing.T) {
	r := simulateReplica(t, "--model google/gemma-3-12b-it --served-model-name m --served-model-name n --max-model-len 8k --max-num-seqs 64 "+
		"--tensor-parallel-size 4 --speed 100 --restart --warm-up 2s --fault error-event:times=1", "VLLM_API_KEY=secret", "VLLM_TPU_BUCKET_PADDING_GAP=128")
	const key = "Authorization: Bearer secret"
	post := func(lines ...string) *gatewaytest.Response {
		return gatewaytest.Post(t, r.data, "/v1/chat/completions", chat, lines...)
	}
	r.until("it is warm", func() bool { return gatewaytest.Get(t, r.data, "/health").Status == 200 })
	if got := post(); got.Status != 401 {
		t.Errorf("without a key: %d", got.Status)
	}
	if got := string(gatewaytest.Get(t, r.data, "/v1/models", key).Body); strings.Count(got, `"max_model_len":8000`) != 2 || !strings.Contains(got, `"root":"google/gemma-3-12b-it"`) {
		t.Errorf("models: %s", got)
	}
	if got := post(key); got.Status != 200 || !strings.Contains(string(got.Body), `"error"`) {
		t.Errorf("the first request is to fail after its 200: %d %s", got.Status, got.Body)
	}
	if got := post(key, "X-Sim-Fault: crash:after=5"); got.Ending != gatewaytest.Cut {
		t.Errorf("in a crash: %s", got.Ending)
	}
	r.until("it is back", func() bool { return gatewaytest.Get(t, r.data, "/health").Status == 200 })
	if !strings.Contains(r.log(), "crashed; starting again") {
		t.Errorf("the log says %s", r.log())
	}
	r.signal(syscall.SIGTERM)
	r.ends(exitOK)
}

func TestSimulatedReplicaThatCrashesEndsItsProcess(t *testing.T) {
	r := simulateReplica(t, "--speed 100")
	r.until("it listens", func() bool { return gatewaytest.Get(t, r.data, "/health").Status == 200 })
	gatewaytest.Post(t, r.data, "/sim/faults", "crash")
	r.ends(exitFailed)
	if !strings.Contains(r.log(), "the simulated replica crashed") {
		t.Errorf("the log says %s", r.log())
	}
}

// What crashes as soon as it starts does so again and again, with pauses; what
// refuses does so from its start.
func TestSimulatedReplicaIsBornWithAFault(t *testing.T) {
	r := simulateReplica(t, "--restart --fault crash")
	r.until("it crashed", func() bool { return strings.Contains(r.log(), "starting again") })
	r.signal(syscall.SIGTERM)
	r.ends(exitOK)
	if n := strings.Count(r.log(), "starting again"); n > 2 {
		t.Errorf("crashed %d times meanwhile", n)
	}
	r = simulateReplica(t, "--fault refuse")
	r.until("connections are refused", func() bool {
		c, err := net.Dial("tcp", r.data)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	r.signal(syscall.SIGTERM)
	r.ends(exitOK)
}

// Told to stop, a replica aborts what runs, or lets it finish for as long as
// --shutdown-timeout says.
func TestSimulatedReplicaStops(t *testing.T) {
	f := func(args, reason string) {
		t.Helper()
		r := simulateReplica(t, "--served-model-name m "+args)
		c := gatewaytest.Connect(t, r.data)
		if err := c.Send(gatewaytest.Request("POST", "/v1/chat/completions", chat)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ReadHead(); err != nil {
			t.Fatal(err)
		}
		r.signal(syscall.SIGTERM)
		body, err := c.ReadBody()
		if err != nil || !strings.Contains(string(body), `"finish_reason":"`+reason+`"`) {
			t.Errorf("%s: got %v, %s", args, err, body)
		}
		r.ends(exitOK)
	}
	f("", "abort")
	f("--shutdown-timeout 60 --speed 10", "length")
}

func TestNumbersAreReadAsVLLMDoes(t *testing.T) {
	f := func(text string, want int, ok bool) {
		t.Helper()
		if got, right := humanInt(text); got != want || right != ok {
			t.Errorf("%s: got %d, %v", text, got, right)
		}
	}
	f("8192", 8192, true)
	f("8k", 8000, true)
	f("8K", 8192, true)
	f("25.6k", 25600, true)
	f("1M", 1<<20, true)
	f("1.5", 0, false)
	f("1.5K", 0, false)
	f("k", 0, false)
	f("-8", 0, false)
	f("", 0, false)
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sluice/config"
	"sluice/gateway/vllmsim"
)

// tuneFile writes a configuration with one pool of 12B whose replica is at url.
func tuneFile(t *testing.T, url string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	content := fmt.Sprintf(`# ours
pools:
  small:
    model: google/gemma-3-12b-it # as served
    size: gemma-3-12b
    accelerator: v6e-2x2
    replicas: [%q]
    cap: {total: 96, prefill: 96} # far too much of both
    engine:
      max_model_len: 32768
      max_num_seqs: 128
      max_num_batched_tokens: 8192
routes:
  m:
    prefill: {pools: [{pool: small}]}
    decode: {pools: [{pool: small}]}
`, url)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// busyReplica is a simulated replica that has served prompts of about 4,000 tokens
// beside long answers.
func busyReplica(t *testing.T) (url string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := vllmsim.New(vllmsim.Options{Size: "gemma-3-12b", Model: "google/gemma-3-12b-it", MaxModelLen: 32768, MaxNumSeqs: 128, Speed: 500})
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(ln)
	}()
	t.Cleanup(func() {
		_ = s.Shutdown(t.Context())
		<-served
	})
	url = "http://" + ln.Addr().String()
	var users sync.WaitGroup
	for user := range 64 {
		users.Go(func() {
			for i := range 4 {
				words, answer := 16000, 4 // 4 letters are a token to the simulation
				if user%2 == 0 {
					words, answer = 2000, 200
				}
				prompt := fmt.Sprintf("%d %d ", user, i) + strings.Repeat("a", words)
				body := fmt.Sprintf(`{"model": "google/gemma-3-12b-it", "prompt": %q, "max_tokens": %d, "ignore_eos": true}`, prompt, answer)
				answered, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, answered.Body)
				answered.Body.Close()
			}
		})
	}
	users.Wait()
	return url
}

// TestTuneALiveReplica: it asks the replica itself, and what it proposes is a
// valid configuration that differs by nothing else.
func TestTuneALiveReplica(t *testing.T) {
	file := tuneFile(t, busyReplica(t))
	code, stdout, stderr := sluice("tune", "--config", file, "--format", "json")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit code %d, stderr %s", code, stderr)
	}
	var got struct {
		Pools []struct {
			Seen      string
			Proposals []struct {
				Setting, Reason string
				To              int
			}
		}
		Diff    string
		Restart map[string][]string
		ByHand  []string `json:"by_hand"`
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Pools) != 1 || len(got.ByHand) != 0 || !strings.Contains(got.Pools[0].Seen, "128 prefill (prompt 3") || !strings.Contains(got.Pools[0].Seen, "128 decode (prompt ") {
		t.Errorf("got %s", stdout)
	}
	to := map[string]int{}
	for _, p := range got.Pools[0].Proposals {
		if to[p.Setting] = p.To; p.Reason == "" {
			t.Errorf("%s has no reason", p.Setting)
		}
	}
	// Half of what comes is classification, of which 96 at a time would all be late.
	if total, prefill := to["cap.total"], to["cap.prefill"]; total >= 96 || prefill > total || prefill < 8 {
		t.Errorf("cap.total %d, cap.prefill %d", total, prefill)
	}
	for _, part := range []string{
		"--- " + file + "\n", "-    cap: {total: 96, prefill: 96} # far too much of both\n",
		fmt.Sprintf("+    cap: {total: %d, prefill: %d} # far too much of both\n", to["cap.total"], to["cap.prefill"]),
	} {
		if !strings.Contains(got.Diff, part) {
			t.Errorf("no %q in\n%s", part, got.Diff)
		}
	}
	patched(t, file, got.Diff, to["cap.total"])
}

// patched applies a diff of whole lines and reads the result.
func patched(t *testing.T, file, diff string, total int) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")[2:]
	var gone, come string
	for _, line := range append(lines, "@@") {
		switch line[0] {
		case '-':
			gone += line[1:] + "\n"
			continue
		case '+':
			come += line[1:] + "\n"
			continue
		case ' ':
			gone, come = gone+line[1:]+"\n", come+line[1:]+"\n"
			continue
		}
		if strings.Count(text, gone) < 1 {
			t.Fatalf("%q isn't in the file", gone)
		}
		text = strings.Replace(text, gone, come, 1)
		gone, come = "", ""
	}
	cfg, err := config.Parse(file, []byte(text))
	if err != nil || cfg.Pools["small"].Cap.Total != total {
		t.Errorf("the changed file is %v with %v:\n%s", cfg, err, text)
	}
}

// TestTuneRecorded reads files: of the gateway, and of a replica whose pool is
// found by the model that it serves.
func TestTuneRecorded(t *testing.T) {
	const replica, gateway = "../../router/tune/testdata/replica-12b.metrics", "../../router/tune/testdata/gateway.metrics"
	file := tuneFile(t, "http://127.0.0.1:1")
	f := func(code int, part string, args ...string) {
		t.Helper()
		got, stdout, stderr := sluice(append([]string{"tune", "--config", file}, args...)...)
		if got != code || !strings.Contains(stdout+stderr, part) {
			t.Errorf("%v: exit code %d, want %d; no %q in %s%s", args, got, code, part, stdout, stderr)
		}
	}
	f(0, "pool small\n  seen: ", "--replica-metrics", replica)
	f(0, "rests on: fair: 976 requests", "--replica-metrics", replica)
	f(0, "engine.padding_gap: leave it at 0", "--replica-metrics", "small="+replica)
	f(0, "nothing is proposed: only 0 requests were seen", "--metrics", gateway)
	f(0, "goes on without a replica", "--metrics", gateway)
	f(1, `/replica-27b.metrics: it serves "google/gemma-3-27b-it", which is the model of 0 pools; say whose it is: POOL=`, "--replica-metrics", strings.Replace(replica, "12b", "27b", 1))
	f(1, "--replica-metrics: open no-such-file: no such file", "--replica-metrics", "no-such-file")
	f(1, `is no metric: "listeners:"`, "--metrics", reference)
	f(1, "no replica told its metrics")
	f(0, "as good as the workload balanced", "--workload", "balanced")
	f(exitUsage, `there is no workload or file "nothing"; the workloads are balanced, `, "--workload", "nothing")
}

// TestTuneSaysWhatItCannotWrite: the environment is in force, not the file.
func TestTuneSaysWhatItCannotWrite(t *testing.T) {
	file := tuneFile(t, "http://127.0.0.1:1")
	t.Setenv("SLUICE_POOLS__SMALL__CAP__TOTAL", "128")
	code, stdout, stderr := sluice("tune", "--config", file, "--workload", "balanced", "--format", "diff")
	if code != 0 || !strings.Contains(stdout, "# By hand: pools.small.cap.total: ") || !strings.Contains(stdout, `the file says "96", but 128 is in force`) {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

package gateway

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
	"sluice/gateway/vllmsim"
	"sluice/router"
)

// found is as long as a finding may take: the ten seconds that it stands on, a reading
// or two, and a busy machine.
const found = 40 * time.Second

// TestEngineThatStandsStill: a replica whose chip hangs says that it is well, and who
// waits for an answer that isn't streamed can't tell. Its metrics show it: new work
// goes elsewhere until it moves again, and what it holds goes on then.
func TestEngineThatStandsStill(t *testing.T) {
	t.Parallel()
	options := vllmsim.Options{Size: "gemma-3-4b", Model: "served", MaxModelLen: 8192, MaxNumSeqs: 8, Speed: 5}
	sick, sickURL := simulate(t, options)
	_, wellURL := simulate(t, options)
	r := start(t, poolPolicyYAML(8, sickURL, wellURL))
	if err := sick.Inject(vllmsim.Fault{Kind: vllmsim.Hang}); err != nil {
		t.Fatal(err)
	}
	const body = `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`
	statuses := make(chan int, 4)
	for range cap(statuses) {
		go func() { statuses <- r.patiently(body) }()
	}
	within(t, found, "the engine's standing still is found", func() bool { return r.hidden("standing") == 1 })
	stalled := `sluice_replica_stalled{pool="p",replica="` + sickURL + `"}`
	if r.metrics()[stalled] != 1 {
		t.Error("it isn't called stalled")
	}
	for range 10 {
		if got := r.post(body); got.Status != 200 || got.Header.Get("x-sluice-replica") != wellURL {
			t.Errorf("status %d by %s", got.Status, got.Header.Get("x-sluice-replica"))
		}
	}
	if err := sick.Heal(); err != nil {
		t.Fatal(err)
	}
	for range cap(statuses) {
		if got := <-statuses; got != 200 {
			t.Errorf("status %d", got)
		}
	}
	r.quiet()
	eventually(t, "it counts as well", func() bool { return r.metrics()[stalled] == 0 })
	if n := r.outcomes(router.Completed); n != 14 || r.hidden("standing") != 1 {
		t.Errorf("%d completed; found %v times", n, r.hidden("standing"))
	}
	if log := r.log.String(); !strings.Contains(log, "stands still") || !strings.Contains(log, "moves again") {
		t.Errorf("the log says\n%s", log)
	}
}

// TestOrphanedWork: a replica that goes on with the work of clients who have left.
func TestOrphanedWork(t *testing.T) {
	t.Parallel()
	sim, url := simulate(t, vllmsim.Options{Size: "gemma-3-4b", Model: "served", MaxModelLen: 8192, MaxNumSeqs: 8})
	r := start(t, poolPolicyYAML(8, url))
	if err := sim.Inject(vllmsim.Fault{Kind: vllmsim.Deaf, Times: 1}); err != nil {
		t.Fatal(err)
	}
	c := gatewaytest.Connect(t, r.data)
	if err := c.Send(gatewaytest.Request("POST", "/v1/chat/completions",
		`{"model":"m","stream":true,"max_tokens":8000,"ignore_eos":true,"messages":[{"role":"user","content":"hi"}]}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReadHead(); err != nil {
		t.Fatal(err)
	}
	c.Close()
	r.quiet()
	unexplained := `sluice_replica_unexplained_sequences{pool="p",replica="` + url + `"}`
	eventually(t, "its load is unexplained", func() bool { return r.metrics()[unexplained] == 1 })
	within(t, found, "the orphan is found", func() bool { return r.hidden("orphans") == 1 })
	if log := r.log.String(); !strings.Contains(log, "nobody waits for any more") {
		t.Errorf("the log says\n%s", log)
	}
	if n := sum(r.metrics(), "sluice_silent_failures_total"); n != 1 {
		t.Errorf("%v silent failures", n)
	}
}

// patiently sends a chat request and waits for its answer however long it takes. 0: none
// came.
func (r *rig) patiently(body string) int {
	answer, err := http.Post("http://"+r.data+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

// hidden is silent_failures_total of a kind.
func (r *rig) hidden(kind string) float64 { return hiddenIn(r.metrics())[kind] }

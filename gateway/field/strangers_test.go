package field

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	gt "sluice/gateway/gatewaytest"
)

// sample is a line of the exposition format: a name, labels, a number.
var sample = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-zA-Z_][a-zA-Z0-9_]*="([^"\\\n]|\\["\\n])*",?)*\})? (NaN|[+-]Inf|[-+0-9.eE]+)$`)

// TestStrangersMintNoSeries: whatever clients make up, models, paths, methods,
// users, ids and hosts, metrics have as many series as before, can be read, and
// memory stays where it was. A name that is configured keeps its own label.
func TestStrangersMintNoSeries(t *testing.T) {
	t.Parallel()
	b := newBench(t, gt.Send(gt.ChatAnswer("a", "stop", 1, 1)))
	r := b.start(t)
	odd := []string{"GET", "PUT", "DELETE", "PATCH", "BREW", "PROPFIND", "M-SEARCH", "post", "OPTIONS", "TRACE"}
	strange := func(from, to int) {
		var all sync.WaitGroup
		const side = 4
		for k := range side {
			all.Go(func() {
				c := gt.Connect(t, r.data)
				defer c.Conn.Close()
				for i := from + k; i < to; i += side {
					model := fmt.Sprintf(`model-%d \"\n%s`, i, []string{"", strings.Repeat("x", 4096), "é\\u0000", "{}"}[i%4])
					body := fmt.Sprintf(`{"model":"%s","user":"user-%d","messages":[]}`, model, i)
					for _, raw := range []string{
						gt.Request("POST", chatPath, body, fmt.Sprintf("x-request-id: id-%d", i), fmt.Sprintf("x-sluice-class: class-%d", i)),
						strings.Replace(gt.Request("POST", fmt.Sprintf("/path-%d/%%ff%%0a%%22", i), ""), "gateway.test", fmt.Sprintf("host-%d.test", i), 1),
						gt.Request(odd[i%len(odd)]+[]string{"", "", fmt.Sprint("X", i%100)}[i%3], chatPath, ""),
					} {
						if err := c.Send(raw); err != nil {
							t.Errorf("send: %v", err)
							return
						}
						if answer, err := c.ReadAnswer(); err != nil || answer.Status < 400 || answer.Status >= 500 {
							t.Errorf("%.100q: %+v, %v", raw, answer, err)
							return
						}
					}
				}
			})
		}
		all.Wait()
	}
	for _, bad := range []string{"\xff\xfe", `a"b`} { // not JSON at all
		r.post(strings.Replace(whole, `"m"`, `"`+bad+`"`, 1))
	}
	r.post(whole)
	strange(0, 100) // the first of each kind may have series, and buffers, of its own
	r.quiet()
	var before series
	eventually(t, "all replicas' own metrics have been read", func() bool {
		before = r.metrics()
		return len(before.only("sluice_replica_engine_sequences")) == 2*len(b.all())
	})
	strange(100, 10_000)
	after := r.metrics()
	for id := range after {
		if _, was := before[id]; !was {
			t.Errorf("a new series: %s", id)
		}
	}
	if grown := after["process_resident_memory_bytes"] - before["process_resident_memory_bytes"]; grown > 32<<20 {
		t.Errorf("%v bytes more in memory", grown)
	}
	if n := after.sum("sluice_requests_finished_total", `route="none"`, `outcome="invalid"`); n < 10_000 {
		t.Errorf("%v requests of strangers are counted as nobody's, want 10,000", n)
	}
	if n := after.sum("sluice_requests_finished_total", `route="m"`, `outcome="completed"`); n != 1 {
		t.Errorf("%v requests of a name that is known, want 1", n)
	}
	r.readable(t)
	r.zero(b.all()...)
}

// only is the series of one name.
func (s series) only(name string) series {
	some := make(series)
	for id, v := range s {
		if strings.HasPrefix(id, name+"{") {
			some[id] = v
		}
	}
	return some
}

// readable checks each line of a scrape as text.
func (r *rig) readable(t *testing.T) {
	t.Helper()
	answer, err := http.Get("http://" + r.ops + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > 0 && line[0] != '#' && !sample.Match(line) {
			t.Errorf("a line that can't be read: %q", line)
		}
	}
	if len(text) > 1<<20 {
		t.Errorf("a scrape of %d bytes", len(text))
	}
}

package field

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

// digester is a replica that keeps no body, only its digest, and answers when it
// is let go.
type digester struct {
	mu    sync.Mutex // guards all below
	seen  map[[sha256.Size]byte]int
	total int
	gate  chan struct{} // closed: answer at once

	came chan struct{} // one for each body
}

func newDigester(t *testing.T) (d *digester, url string) {
	d = &digester{seen: make(map[[sha256.Size]byte]int), gate: make(chan struct{}), came: make(chan struct{}, 100)}
	close(d.gate)
	s := httptest.NewServer(d)
	t.Cleanup(s.Close)
	return d, s.URL
}

func (d *digester) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		return // a probe
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, r.Body); err != nil {
		return
	}
	d.mu.Lock()
	d.seen[[sha256.Size]byte(sum.Sum(nil))]++
	d.total++
	gate := d.gate
	d.mu.Unlock()
	d.came <- struct{}{}
	select {
	case <-gate:
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, body, _ := strings.Cut(gt.ChatAnswer("a", "stop", 1, 1), "\r\n\r\n")
	_, _ = io.WriteString(w, body)
}

func (d *digester) hold(gate chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gate = gate
}

// got is how often a body has arrived.
func (d *digester) got(body string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen[sha256.Sum256([]byte(body))]
}

// all is how many bodies have arrived.
func (d *digester) all() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.total
}

// picture is a chat with parts of every kind, so long as a whole, for the model.
func picture(model string, size int) string {
	before := `{"model":"` + model + `","messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}},` +
		`{"type":"what"},{"type":"image_url","image_url":{"url":"data:image/png;base64,`
	const after = `"}}]},{"role":"user","content":[]}]}`
	return before + strings.Repeat("iVBORw0KGgoAAAANSUhE/+19", size/24+1)[:max(0, size-len(before)-len(after))] + after
}

// upload sends a body, with a length or in chunks, and reads the answer while it
// does, as a client must who wants to know why it can't go on.
func upload(t *testing.T, address, body string, chunked bool, times int) *gt.Response {
	t.Helper()
	c := gt.Connect(t, address)
	defer c.Conn.Close()
	framing := fmt.Sprintf("Content-Length: %d", len(body)*times)
	if chunked {
		framing = "Transfer-Encoding: chunked"
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		c.Conn.SetWriteDeadline(time.Now().Add(gt.Patience))
		_, err := io.WriteString(c.Conn, "POST "+chatPath+" HTTP/1.1\r\nHost: gateway.test\r\nContent-Type: application/json\r\n"+framing+"\r\n\r\n")
		for range times {
			for rest := body; len(rest) > 0 && err == nil; {
				piece := rest[:min(len(rest), 256<<10)]
				rest = rest[len(piece):]
				if chunked {
					piece = gt.Chunk(piece)
				}
				_, err = io.WriteString(c.Conn, piece)
			}
		}
		if chunked && err == nil {
			_, _ = io.WriteString(c.Conn, gt.FinalChunk)
		}
	}()
	answer, err := c.ReadAnswer()
	c.Conn.Close()
	<-sent
	if err != nil {
		return &gt.Response{Err: err}
	}
	return answer
}

// TestPicturesAndHugeBodies: bodies up to the limit (32 MiB unless it is set) reach
// the replica as they are, and those above it get an answer that can be read. A
// picture is not so many tokens of text.
func TestPicturesAndHugeBodies(t *testing.T) {
	t.Parallel()
	const limit = 32 << 20
	d, url := newDigester(t)
	r := start(t, "pools: {p: {model: served, replicas: ["+strconv.Quote(url)+"], cap: {total: 32}, engine: {max_model_len: 4096}}}\n"+
		"routes: {m: {prefill: {pools: [{pool: p}], slo: {ttft: 1h}}, decode: {pools: [{pool: p}], slo: {ttft: 1h, tpot: 1h}}}}\n", 1)
	passed := 0
	for _, size := range []int{1 << 10, 3_900_000, 4_100_000, 8 << 20, limit - 1, limit, limit + 1} {
		body, want := picture("m", size), picture("m", size)
		want = strings.Replace(want, `"m"`, `"served"`, 1)
		for _, chunked := range []bool{false, true} {
			answer := upload(t, r.data, body, chunked, 1)
			switch {
			case size <= limit && answer.Status == 200:
				passed++
			case size > limit && answer.Status == 413 && strings.Contains(string(answer.Body), "limits.body=33554432") && answer.Ending == gt.Whole:
			default:
				t.Errorf("%d bytes, in chunks %v: status %d, %v, %v: %s", size, chunked, answer.Status, answer.Ending, answer.Err, answer.Body)
			}
		}
		if n := d.got(want); size <= limit && n != 2 || size > limit && n != 0 {
			t.Errorf("%d bytes: the replica got the body %d times", size, n)
		}
	}
	for _, chunked := range []bool{false, true} {
		if answer := upload(t, r.data, strings.Repeat(" ", 1<<20), chunked, 200); answer.Status != 413 || answer.Header.Get("Content-Type") != "application/json" {
			t.Errorf("200 MiB, in chunks %v: status %d, %v: %s", chunked, answer.Status, answer.Err, answer.Body)
		}
	}
	if n := d.all(); n != passed {
		t.Errorf("the replica got %d requests, want %d", n, passed)
	}
	for _, l := range r.lines() {
		if l.Outcome == "completed" && (l.Estimate < 1 || l.Estimate > 1000) {
			t.Errorf("a picture and two words are %d tokens", l.Estimate)
		}
	}
	r.manyPictures(d)
	m := r.metrics()
	if n := m.sum("sluice_requests_finished_total", `outcome="`+router.TooLarge.String()+`"`); n != 4 {
		t.Errorf("%v are too large, want 4", n)
	}
	r.zero()
}

// manyPictures has 20 of 8 MiB under way at once, and looks at the heap, which the
// race detector leaves as it is.
func (r *rig) manyPictures(d *digester) {
	r.t.Helper()
	const n, size = 20, 8 << 20
	gate := make(chan struct{})
	d.hold(gate)
	for len(d.came) > 0 {
		<-d.came // those before
	}
	before := r.metrics()["go_memstats_heap_inuse_bytes"]
	raw := gt.Request("POST", chatPath, picture("m", size), "Connection: close")
	answers := make(chan string, n)
	for range n {
		go func() { answers <- r.say(raw) }()
	}
	for range n {
		<-d.came
	}
	grown := r.metrics()["go_memstats_heap_inuse_bytes"] - before
	if grown > 2*n*size {
		r.t.Errorf("%d bodies of %d MiB take %.0f MiB", n, size>>20, grown/(1<<20))
	}
	close(gate)
	for range n {
		if answer := <-answers; !strings.HasPrefix(answer, "HTTP/1.1 200") {
			r.t.Errorf("one of many got %.300s", answer)
		}
	}
}

package field

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

// usable checks a refusal for want of room: a client's library can read it, and
// knows when to come back.
func usable(t *testing.T, answer *gt.Response) {
	t.Helper()
	var body struct {
		Error map[string]any `json:"error"`
	}
	after, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	if answer.Status != 429 && answer.Status != 503 || err != nil || after < 1 || answer.Header.Get("Content-Type") != "application/json" || answer.Ending != gt.Whole {
		t.Errorf("status %d, %v, Retry-After %q, %s", answer.Status, answer.Ending, answer.Header.Get("Retry-After"), answer.Header.Get("Content-Type"))
	}
	if err := json.Unmarshal(answer.Body, &body); err != nil {
		t.Errorf("%v: %s", err, answer.Body)
	}
	for _, member := range []string{"message", "type", "code", "param"} {
		if _, has := body.Error[member]; !has {
			t.Errorf("the error has no %q: %s", member, answer.Body)
		}
	}
}

// TestOverloadAnswersClientsCanUse: with all places and the queue full, whoever
// comes hears so while everybody else still waits, in JSON, whatever it accepts;
// its connection stays in step. Such refusals are told apart from replicas' own,
// which pass as they are.
func TestOverloadAnswersClientsCanUse(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	b := newBench(t, gt.Wait(goOn), gt.Send(gt.ChatAnswer("a", "stop", 1, 1)))
	b.timeouts["first_event"], b.queue = "1m", "{max_waiting: 4, max_wait: 1m}"
	r := b.start(t)
	const inside = 8 + 4
	served := make(chan string, inside)
	for range inside {
		go func() { served <- r.say(gt.Request("POST", chatPath, whole, "Connection: close")) }()
	}
	eventually(t, "all places are taken and the queue is full", func() bool { return r.held() == 8 && r.waiting() == 4 })
	for i := range 50 {
		usable(t, r.post([]string{streamed, whole}[i%2], []string{"Accept: text/event-stream", "Accept: */*", "Accept: text/html"}[i%3]))
	}
	c := gt.Connect(t, r.data)
	for _, ask := range []struct {
		path string
		want int
	}{{chatPath, 429}, {"/smuggled", 404}, {chatPath, 429}} {
		body := strings.Replace(whole, `"hi"`, `"hi GET /smuggled HTTP/1.1\r\n\r\n"`, 1)
		if ask.want == 404 {
			body = ""
		}
		if err := c.Send(gt.Request("POST", ask.path, body)); err != nil {
			t.Fatal(err)
		}
		if answer, err := c.ReadAnswer(); err != nil || answer.Status != ask.want {
			t.Fatalf("on one connection: %+v, %v; want %d", answer, err, ask.want)
		}
	}
	c.Conn.Close()
	close(goOn)
	for range inside {
		if answer := <-served; !strings.HasPrefix(answer, "HTTP/1.1 200") {
			t.Errorf("of those inside one got %.300s", answer)
		}
	}
	const theirs = `{"error":{"message":"slow down","type":"RateLimitError","param":null,"code":429}}`
	b.script(gt.Send(gt.JSON(429, theirs, "Retry-After: 7", "x-ratelimit-remaining-requests: 0")))
	answer := r.post(streamed)
	if answer.Status != 429 || string(answer.Body) != theirs || answer.Header.Get("Retry-After") != "7" || answer.Header.Get("x-ratelimit-remaining-requests") != "0" {
		t.Errorf("a replica's own refusal: status %d, %q: %s", answer.Status, answer.Header, answer.Body)
	}
	r.ended(map[router.Outcome]int{router.Completed: inside, router.QueueFull: 52, router.Busy: 1})
	eventually(t, "the replicas are asked again", func() bool {
		b.script(gt.Send(gt.ChatAnswer("a", "stop", 1, 1)))
		return r.post(whole).Status == 200
	})
	r.zero(b.all()...)
}

// engine is a replica that holds so many requests and refuses more, as vLLM with
// a bounded queue of its own.
type engine struct {
	most          int64
	running, peak atomic.Int64
	asked, full   atomic.Int64
}

func (e *engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		return // a probe
	}
	e.asked.Add(1)
	n := e.running.Add(1)
	defer e.running.Add(-1)
	w.Header().Set("Content-Type", "application/json")
	if n > e.most {
		e.full.Add(1)
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"error":{"message":"full","type":"RateLimitError","param":null,"code":429}}`))
		return
	}
	for {
		peak := e.peak.Load()
		if n <= peak || e.peak.CompareAndSwap(peak, n) {
			break
		}
	}
	select {
	case <-time.After(20 * time.Millisecond): // its work
	case <-r.Context().Done():
	}
	_, body, _ := strings.Cut(gt.ChatAnswer("a", "stop", 1, 1), "\r\n\r\n")
	_, _ = w.Write([]byte(body))
}

// TestTwoGateways: caps are per gateway, so the document has them divided; then no
// replica ever holds more than it can. Undivided, the replicas' own refusals are
// taken for what they are: they pass to the client, blame nobody, and multiply
// nothing.
func TestTwoGateways(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		total string
		full  bool
	}{{"divided", "2", false}, {"undivided", "4", true}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			engines := []*engine{{most: 4}, {most: 4}}
			var urls []string
			for _, e := range engines {
				s := httptest.NewServer(e)
				t.Cleanup(s.Close)
				urls = append(urls, strconv.Quote(s.URL))
			}
			policy := "pools: {p: {model: served, replicas: [" + strings.Join(urls, ", ") + "], cap: {total: " + tc.total + "}}}\n" +
				"routes: {m: {prefill: {pools: [{pool: p}], slo: {ttft: 1h}}, decode: {pools: [{pool: p}], slo: {ttft: 1h, tpot: 1h}}}}\n" +
				"health: {interval: 50ms}\n"
			gateways := []*rig{start(t, policy, 2), start(t, policy, 2)}
			var answered, refused atomic.Int64
			var all sync.WaitGroup
			const clients, each = 16, 20
			for i := range clients {
				all.Go(func() {
					for range each {
						switch answer := gateways[i%2].post(whole); answer.Status {
						case 200:
							answered.Add(1)
						case 429:
							usable(t, answer)
							refused.Add(1)
						default:
							t.Errorf("status %d: %s", answer.Status, answer.Body)
						}
					}
				})
			}
			all.Wait()
			asked, full := engines[0].asked.Load()+engines[1].asked.Load(), engines[0].full.Load()+engines[1].full.Load()
			if asked > clients*each*12/10 {
				t.Errorf("%d requests became %d at the replicas, want at most a fifth more", clients*each, asked)
			}
			if !tc.full && (refused.Load() > 0 || full > 0) {
				t.Errorf("the replicas refused %d times and %d clients heard of it; want nobody", full, refused.Load())
			}
			if tc.full && full == 0 {
				t.Error("nothing was too much: the test shows nothing")
			}
			for _, r := range gateways {
				r.quiet()
				m := r.metrics()
				if n := m.sum("sluice_breaker_state", `state="open"`) + m.sum("sluice_breaker_state", `state="half_open"`); n != 0 {
					t.Errorf("%v breakers have opened: a busy replica isn't a broken one", n)
				}
			}
			t.Logf("%d answered, %d refused, %d at the replicas of which %d too many", answered.Load(), refused.Load(), asked, full)
		})
	}
}

package gateway

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// actor is a replica that does what the prompt says.
type actor struct {
	arrived sync.Map // prompt -> chan struct{}, closed when a request with it has come
}

// expect gives a channel that is closed when a request with the prompt arrives.
func (a *actor) expect(prompt string) <-chan struct{} {
	ch, _ := a.arrived.LoadOrStore(prompt, make(chan struct{}))
	return ch.(chan struct{})
}

func (a *actor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		return // a health check
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	_, prompt, _ := strings.Cut(string(raw), `"content":"`)
	prompt, _, _ = strings.Cut(prompt, `"`)
	if ch, known := a.arrived.Load(prompt); known {
		close(ch.(chan struct{}))
	}
	act, _, _ := strings.Cut(prompt, " ")
	a.act(act, w, r)
}

func (a *actor) act(act string, w http.ResponseWriter, r *http.Request) {
	stream := func(events ...string) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, strings.Join(events, "")) // the client may have gone
		_ = http.NewResponseController(w).Flush()
	}
	switch act {
	case "stream":
		stream(gatewaytest.ChatEvents("a", "b")...)
	case "whole":
		answerWhole(w)
	case "wrong":
		w.WriteHeader(http.StatusBadRequest)
	case "fail":
		w.WriteHeader(http.StatusInternalServerError)
	case "truncate":
		stream(gatewaytest.Role, gatewaytest.Content("a"))
	case "abort":
		stream(gatewaytest.Role, gatewaytest.Finish("", "abort"), gatewaytest.Done)
	case "error":
		stream(gatewaytest.Role, gatewaytest.Content("a"), gatewaytest.ErrorEvent(500, "InternalServerError", "boom"), gatewaytest.Done)
	case "lose":
		panic(http.ErrAbortHandler)
	case "hold":
		<-r.Context().Done()
	case "begin":
		stream(gatewaytest.Role, gatewaytest.Content("a"))
		<-r.Context().Done()
	}
}

func answerWhole(w http.ResponseWriter) {
	_, body, _ := strings.Cut(gatewaytest.ChatAnswer("a", "stop", 3, 1), "\r\n\r\n")
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body) // the client may have gone
}

// chapter is one way for a request to end: what is asked, how the client
// behaves, and the outcome that this has for sure.
type chapter struct {
	route, act string
	lines      []string // header
	more       string   // members of the body
	leaves     bool     // when the replica has it
	reads      bool     // one event first
	want       router.Outcome
	status     int // 0: the outcome's own
}

const (
	goodKey   = "Authorization: Bearer key"
	keyDigest = "2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683" // sha256 of "key"
)

var chapters = []chapter{
	{route: "m", act: "stream", want: router.Completed},
	{route: "m", act: "whole", want: router.Completed},
	{route: "m", act: "wrong", want: router.ClientError},
	{route: "m", act: "fail", want: router.ReplicaError},
	{route: "m", act: "truncate", want: router.Truncated},
	{route: "m", act: "abort", want: router.Aborted},
	{route: "m", act: "error", want: router.ErrorEvent},
	{route: "m", act: "lose", want: router.Lost},
	{route: "m", act: "hold", leaves: true, want: router.ClientGoneWaiting},
	{route: "m", act: "begin", leaves: true, reads: true, want: router.ClientGoneStreaming},
	{route: "full", act: "whole", want: router.QueueFull},
	{route: "line", act: "whole", lines: []string{"x-sluice-timeout-ms: 5"}, want: router.WaitExpired},
	{route: "down", act: "whole", want: router.NoReplica},
	{route: "nowhere", act: "whole", want: router.Invalid, status: 404},
	{route: "m", act: strings.Repeat("x", 5000), want: router.TooLarge},
	{route: "m", act: "whole", more: `"seed":1,`, want: router.Unsupported},
	{route: "m", act: "whole", lines: []string{"x-api-key: stolen"}, want: router.Unauthorized},
}

func ledgerPolicy(replica, occupied, down string) string {
	return fmt.Sprintf(`
pools:
  p: {model: served, replicas: [%s], cap: {total: 100}}
  one: {model: occupied, replicas: [%s], cap: {total: 1}}
  none: {model: never, replicas: [%s], cap: {total: 1}}
routes:
  m: {prefill: {pools: [{pool: p}]}, decode: {pools: [{pool: p}]}}
  full: {class: decode, decode: {pools: [{pool: one}], queue: {max_waiting: 0}}}
  line: {class: decode, decode: {pools: [{pool: one}], queue: {max_waiting: 1000, max_wait: 60s}}}
  down: {class: decode, decode: {pools: [{pool: none}]}}
tenants: {us: {key_sha256: [%s]}}
limits: {body: 4KiB}
health: {failures_open: 1000000}
timeouts: {release_after_cancel: 20ms}
`, replica, occupied, down, keyDigest)
}

// The ledger balances in every scrape whatever happens, and in the end it says
// of each request what its client has seen of it.
func TestLedgerBalancesWhateverHappens(t *testing.T) {
	zero := gatewaytest.ZeroCheck(t, ownGoroutines(), gatewaytest.Descriptors())
	t.Run("mixture", func(t *testing.T) {
		a := &actor{}
		server := httptest.NewServer(a)
		defer server.Close()
		other := httptest.NewServer(a)
		defer other.Close()
		r := start(t, ledgerPolicy(server.URL, other.URL, "http://127.0.0.1:1"), 2)
		occupant := gatewaytest.Connect(t, r.data)
		if err := occupant.Send(chapterRequest(chapter{route: "line", act: "hold"}, "hold")); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the only slot of its pool is taken", func() bool { return r.held() == 1 })

		scrapes, end := r.scrapeAllTheTime()
		told := r.play(a, scrapes)
		end()
		occupant.Close()
		told[router.ClientGoneWaiting]++
		r.quiet()
		t.Logf("%d scrapes, %v", scrapes.Load(), told)
		for o, n := range told {
			if got := r.outcomes(o); got != n {
				t.Errorf("%s: the ledger has %d, the clients %d", o, got, n)
			}
		}
	})
	zero()
}

// play has four clients play random chapters until there were 50 scrapes, and
// returns how many ended how.
func (r *rig) play(a *actor, scrapes *atomic.Int64) map[router.Outcome]int {
	var mu sync.Mutex // guards told
	told := make(map[router.Outcome]int)
	var all sync.WaitGroup
	for player := range 4 {
		all.Go(func() {
			dice := rand.New(rand.NewPCG(1, uint64(player)))
			for i := 0; i < 2*len(chapters) || scrapes.Load() < 50; i++ {
				c := chapters[dice.IntN(len(chapters))]
				r.live(a, c, fmt.Sprintf("%s %d.%d", c.act, player, i))
				mu.Lock()
				told[c.want]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return told
}

// live plays one chapter from the client's side.
func (r *rig) live(a *actor, c chapter, prompt string) {
	if !c.leaves {
		answer := gatewaytest.Target{Address: r.data}.Fetch(r.t, chapterRequest(c, prompt))
		if want := cmp.Or(c.status, c.want.Status()); answer.Status == 0 || want > 0 && answer.Status != 200 && answer.Status != want {
			r.t.Errorf("%s: status %d, want %d: %v", c.want, answer.Status, want, answer.Err)
		}
		return
	}
	arrived := a.expect(prompt)
	conn, err := net.Dial("tcp", r.data)
	if err != nil {
		r.t.Error(err)
		return
	}
	client := gatewaytest.NewClient(r.t, conn)
	defer client.Close()
	if err := client.Send(chapterRequest(c, prompt)); err != nil {
		r.t.Error(err)
		return
	}
	<-arrived
	if c.reads {
		if _, err := client.ReadHead(); err != nil {
			r.t.Error(err)
		}
	}
}

func chapterRequest(c chapter, prompt string) string {
	lines := c.lines
	if c.want != router.Unauthorized {
		lines = append([]string{goodKey}, lines...)
	}
	body := fmt.Sprintf(`{%s"model":"%s","stream":%t,"max_tokens":99,"messages":[{"role":"user","content":"%s"}]}`, c.more, c.route, c.act != "whole", prompt)
	return gatewaytest.Request("POST", "/v1/chat/completions", body, lines...)
}

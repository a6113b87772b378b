package field

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

// stormOf is how many streams TestStormOfCancels cancels; `make storm` wants more.
var stormOf = flag.Int("storm", 3000, "how many streams TestStormOfCancels cancels")

// tale is an answer that no other request gets: each event names it, in an event as
// long as none of its neighbours', so that a byte of another would show.
type tale struct {
	number, events int
	usage          bool // the client asks for it
	whole          bool // not streamed
}

func drawTale(number int, random *rand.Rand) tale {
	return tale{number: number, events: 3 + random.IntN(30), usage: random.IntN(2) == 0, whole: random.IntN(8) == 0}
}

func (s tale) body() string {
	options := ""
	if s.usage && !s.whole {
		options = `,"stream_options":{"include_usage":true}`
	}
	return fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"tale %d %d"}],"stream":%t%s}`, s.number, s.events, !s.whole, options)
}

// words are what it tells, a piece an event.
func (s tale) words() []string {
	words := make([]string, s.events)
	for i := range words {
		words[i] = strings.Repeat(fmt.Sprintf("%d.%d ", s.number, i), 1+(s.number+7*i)%23)
	}
	return words
}

// told is the whole answer's body as its client hears it.
func (s tale) told() string {
	if s.whole {
		_, body, _ := strings.Cut(gt.ChatAnswer(strings.Join(s.words(), ""), "stop", s.number, s.events), "\r\n\r\n")
		return body
	}
	events := gt.ChatEvents(s.words()...)
	if s.usage {
		events = append(events[:len(events)-1], gt.Usage(s.number, s.events), gt.Done)
	}
	return strings.Join(events, "")
}

// tell is the replica's script: usage is told whoever asked for it.
func tell(c *gt.Call) gt.Script {
	var s tale
	_, prompt, _ := strings.Cut(string(c.Body), `"content":"`)
	if _, err := fmt.Sscanf(prompt, "tale %d %d", &s.number, &s.events); err != nil {
		return gt.Script{gt.Send(gt.ChatAnswer("a", "stop", 1, 1))}
	}
	if !strings.Contains(string(c.Body), `"stream":true`) {
		return gt.Script{gt.Pause(50 * time.Millisecond), gt.Send(gt.ChatAnswer(strings.Join(s.words(), ""), "stop", s.number, s.events))}
	}
	events := gt.ChatEvents(s.words()...)
	events = append(events[:len(events)-1], gt.Usage(s.number, s.events), gt.Done)
	return gt.Script{gt.Send(gt.SSEHead), gt.ChunksEach(5*time.Millisecond, events...), gt.Send(gt.FinalChunk)}
}

// hear reads as much of the answer as comes, at most so many pieces, and says what
// of it is none of this tale's.
func (s tale) hear(c *gt.Client, pieces int) (whole bool, err error) {
	answer, err := c.ReadHead()
	if err != nil {
		return false, err
	}
	if answer.Status != 200 {
		body, _ := c.ReadBody()
		return false, fmt.Errorf("tale %d: status %d: %s", s.number, answer.Status, body)
	}
	told, heard := s.told(), 0
	for range pieces {
		p, err := c.ReadPiece()
		if !strings.HasPrefix(told[heard:], string(p)) {
			return false, fmt.Errorf("tale %d: after %d bytes foreign ones: %q, want %.300q", s.number, heard, p, told[heard:])
		}
		if heard += len(p); err == io.EOF {
			return heard == len(told), nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// tempest is clients that leave, beside others that stay.
type tempest struct {
	*rig
	replicas []*gt.Replica
	numbers  atomic.Int64 // of tales
	told     atomic.Int64 // clean ones
	calm     chan struct{}
}

// TestStormOfCancels: streams that are cancelled at every point, 96 at a time, beside
// others on the same replicas. Nobody ever hears a byte of another's answer, those
// who stay hear all of theirs, and the replicas are idle as soon as all have left.
func TestStormOfCancels(t *testing.T) {
	t.Parallel()
	const staying, patience = 12, time.Second
	cancels := *stormOf
	if testing.Short() {
		cancels = min(cancels, 1000)
	}
	s := newTempest(t)
	var stay sync.WaitGroup
	for i := range staying {
		stay.Go(func() { s.stay(rand.New(rand.NewPCG(uint64(i), 1))) })
	}
	began := time.Now()
	left := s.storm(cancels)
	took := time.Since(began)
	close(s.calm)
	stay.Wait()
	calm := time.Now()
	eventually(t, "the replicas are idle", func() bool { return s.running() == 0 })
	idle := time.Since(calm)
	if idle > patience {
		t.Errorf("the replicas were idle %v after the last client had left, want at most %v", idle, patience)
	}
	t.Logf("%d clients left in %v, %d of them in the middle of an answer; %d whole answers beside; the replicas were idle %v after the last, having had %d calls",
		left, took.Round(time.Millisecond), s.gone(), s.told.Load(), idle.Round(time.Millisecond), calls(s.replicas...))
	if streaming := s.outcomes(router.ClientGoneStreaming); streaming < cancels/3 || s.told.Load() < int64(cancels/50) {
		t.Errorf("that was no storm: %d left after the first token, %d stayed", streaming, s.told.Load())
	}
	s.zero(s.replicas...)
}

// newTempest is a gateway before four replicas with room for all who come.
func newTempest(t *testing.T) *tempest {
	s := &tempest{calm: make(chan struct{})}
	var urls []string
	for i := range 4 {
		rep := gt.NewReplicaAt(t, ownAddress(t, i), gt.Choose(tell))
		s.replicas, urls = append(s.replicas, rep), append(urls, fmt.Sprintf("%q", rep.URL()))
	}
	s.rig = start(t, fmt.Sprintf(`
pools: {p: {model: served, replicas: [%s], cap: {total: 30}, engine: {max_model_len: 8192}}}
routes: {m: {class: decode, decode: {pools: [{pool: p}], queue: {max_waiting: 1000, max_wait: 60s}, slo: {ttft: 1h, tpot: 1m}}}}
timeouts: {release_after_cancel: 50ms, idle_replica: 500ms}
`, strings.Join(urls, ", ")), len(s.replicas))
	return s
}

// storm has clients come and leave, 96 at a time, until so many have been cancelled.
func (s *tempest) storm(cancels int) (left int) {
	const atOnce = 96
	var leave sync.WaitGroup
	next := make(chan int)
	for i := range atOnce {
		leave.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 2))
			for way := range next {
				s.leave(way, random)
			}
		})
	}
	for s.gone() < cancels {
		for range atOnce {
			next <- left
			left++
		}
	}
	close(next)
	leave.Wait()
	return left
}

// running is how many calls the replicas work on.
func (s *tempest) running() (n int) {
	for _, rep := range s.replicas {
		n += rep.Running()
	}
	return n
}

// gone is how many requests have been cancelled, by the gateway's own count.
func (s *tempest) gone() int {
	s.t.Helper()
	m := s.metrics()
	return int(m.sum("sluice_requests_finished_total", `outcome="client_gone_`))
}

// stay asks for tale after tale on one connection, and hears each to its end.
func (s *tempest) stay(random *rand.Rand) {
	conn, err := net.DialTimeout("tcp", s.data, gt.Patience)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer conn.Close()
	c := gt.NewClient(s.t, conn)
	for {
		select {
		case <-s.calm:
			return
		default:
		}
		tale := drawTale(int(s.numbers.Add(1)), random)
		if err := c.Send(gt.Request("POST", chatPath, tale.body())); err != nil {
			s.t.Errorf("one who stays: %v", err)
			return
		}
		if whole, err := tale.hear(c, 1<<20); !whole || err != nil {
			s.t.Errorf("one who stays: whole %t, %v", whole, err)
			return
		}
		s.told.Add(1)
	}
}

// leave asks for a tale and goes, in one of the ways in which clients do.
func (s *tempest) leave(way int, random *rand.Rand) {
	conn, err := net.DialTimeout("tcp", s.data, gt.Patience)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer conn.Close()
	c := gt.NewClient(s.t, conn)
	tale := drawTale(int(s.numbers.Add(1)), random)
	tale.events += 15 // it ends before they do
	request := gt.Request("POST", chatPath, tale.body())
	switch way % 10 {
	case 0: // in the middle of the request
		request = request[:random.IntN(len(request))]
	case 1: // with another request behind it
		request += gt.Request("POST", chatPath, drawTale(int(s.numbers.Add(1)), random).body())
	}
	if err = c.Send(request); err != nil {
		s.t.Error(err)
		return
	}
	switch way % 10 {
	case 0, 2: // at once
	case 3: // a moment later
		<-time.After(time.Duration(random.IntN(10)) * time.Millisecond)
	case 4: // its sending side only
		err = c.CloseWrite()
		_, _ = io.Copy(io.Discard, conn) // until the gateway hangs up, which may be a reset
	case 5, 6: // with a reset, having heard something
		_, err = tale.hear(c, random.IntN(12))
		c.Reset()
	default: // having heard something
		_, err = tale.hear(c, random.IntN(12))
	}
	if err != nil {
		s.t.Errorf("one who leaves: %v", err)
	}
}

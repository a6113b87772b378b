package gateway

import (
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// entrance is how the clients of a test reach its gateway.
type entrance struct {
	*rig
	tls *tls.Config // nil: plain
}

// atEachEntrance runs a test against a gateway of its own with one scripted
// replica, once plain and once over TLS.
func atEachEntrance(t *testing.T, total int, more string, test func(*testing.T, entrance, *gatewaytest.Replica)) {
	t.Run("plain", func(t *testing.T) {
		rep := gatewaytest.NewReplica(t)
		test(t, entrance{rig: start(t, onePool(total, rep)+more)}, rep)
	})
	t.Run("tls", func(t *testing.T) {
		rep := gatewaytest.NewReplica(t)
		cert, trust := gatewaytest.Certificate(t)
		certFile, keyFile := gatewaytest.CertificateFiles(t, cert)
		secured := fmt.Sprintf("data: {address: \"127.0.0.1:0\", tls: {cert: %q, key: %q}}", certFile, keyFile)
		doors := strings.Replace(loopbackDoors, `data: {address: "127.0.0.1:0"}`, secured, 1)
		r := startWith(t, Options{Config: parse(t, doors+onePool(total, rep)+more)})
		test(t, entrance{rig: r, tls: trust}, rep)
	})
}

// send opens a connection and sends a chat request on it.
func (e entrance) send(t *testing.T, stream bool) *gatewaytest.Client {
	t.Helper()
	c := e.connect(t)
	sendChat(t, c, stream)
	return c
}

func (e entrance) connect(t *testing.T) *gatewaytest.Client {
	t.Helper()
	if e.tls != nil {
		return gatewaytest.ConnectTLS(t, e.data, e.tls)
	}
	return gatewaytest.Connect(t, e.data)
}

// sendChat sends as many chat requests as are told in one write.
func sendChat(t *testing.T, c *gatewaytest.Client, streams ...bool) {
	t.Helper()
	raw := ""
	for _, stream := range streams {
		raw += gatewaytest.Request("POST", "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", stream))
	}
	if err := c.Send(raw); err != nil {
		t.Fatal(err)
	}
}

// ways are the ways of leaving. Over TLS a client that only shuts its sending
// side does so below TLS: a close_notify by itself is no departure.
var ways = []struct {
	name  string
	leave func(*gatewaytest.Client) error
}{
	{"FIN", (*gatewaytest.Client).Close},
	{"RST", func(c *gatewaytest.Client) error { c.Reset(); return nil }},
	{"half-close", func(c *gatewaytest.Client) error { return tcpOf(c).CloseWrite() }},
}

func tcpOf(c *gatewaytest.Client) *net.TCPConn {
	if secure, ok := c.Conn.(*tls.Conn); ok {
		return secure.NetConn().(*net.TCPConn)
	}
	return c.Conn.(*net.TCPConn)
}

// moments are the moments at which a client leaves a request that a replica works
// at: what the replica has said by then, and what the client has read of it.
var moments = []struct {
	name   string
	stream bool
	script gatewaytest.Script
	reads  string // the last event that the client waits for; "": nothing comes
	want   router.Outcome
}{
	{"stream, before the head", true, gatewaytest.Script{gatewaytest.Stall()}, "", router.ClientGoneWaiting},
	{"stream, after the head", true, gatewaytest.Script{gatewaytest.Send(gatewaytest.SSEHead),
		gatewaytest.Chunks(gatewaytest.Role), gatewaytest.Stall()}, "", router.ClientGoneWaiting},
	{"stream, in the middle", true, gatewaytest.Script{gatewaytest.Send(gatewaytest.SSEHead),
		gatewaytest.Chunks(gatewaytest.Role, gatewaytest.Content("a")), gatewaytest.Stall()}, gatewaytest.Content("a"), router.ClientGoneStreaming},
	{"whole, before the head", false, gatewaytest.Script{gatewaytest.Stall()}, "", router.ClientGoneWaiting},
	{"whole, half of it there", false, gatewaytest.Script{gatewaytest.Send(gatewaytest.ChatAnswer("half", "stop", 1, 1)[:200]),
		gatewaytest.Stall()}, "", router.ClientGoneWaiting},
}

// A client that leaves takes its request with it, whenever and however it goes,
// and the replica isn't blamed for that.
func TestDepartureEndsTheReplicasWork(t *testing.T) {
	atEachEntrance(t, 2, "timeouts: {release_after_cancel: 20ms}\n", func(t *testing.T, e entrance, rep *gatewaytest.Replica) {
		calls := 0
		var waits []time.Duration
		for _, at := range moments {
			for _, way := range ways {
				t.Run(at.name+", "+way.name, func(t *testing.T) {
					before := e.outcomes(at.want)
					rep.Next(at.script...)
					c := e.send(t, at.stream)
					call := rep.Call(calls)
					calls++
					if at.reads != "" {
						readUpTo(t, c, at.reads)
					}
					left := time.Now()
					if err := way.leave(c); err != nil {
						t.Fatal(err)
					}
					waits = append(waits, call.WaitGone(t).Sub(left))
					eventually(t, "the outcome is "+at.want.String(), func() bool { return e.outcomes(at.want) == before+1 })
					if way.name == "half-close" {
						notAnswered(t, c, at.reads != "")
					}
				})
			}
		}
		e.quiet()
		e.notBlamed(t)
		t.Log("from a client's departure to the replica's seeing it:", spread(waits))
	})
}

// readUpTo reads a stream's head and its events up to and with the last.
func readUpTo(t *testing.T, c *gatewaytest.Client, last string) {
	t.Helper()
	if _, err := c.ReadHead(); err != nil {
		t.Fatal(err)
	}
	for raw := ""; raw != last; {
		event, err := c.ReadEvent()
		if err != nil {
			t.Fatal(err)
		}
		raw = event.Raw
	}
}

// notAnswered checks that a client that still listens doesn't take its end for
// a success. Its stream may have begun.
func notAnswered(t *testing.T, c *gatewaytest.Client, begun bool) {
	t.Helper()
	if begun {
		if _, ending := c.Timeline(); ending != gatewaytest.Cut {
			t.Errorf("the stream of a client that stopped sending ended %v, want cut", ending)
		}
		return
	}
	if answer, err := c.ReadAnswer(); err == nil && answer.Status < 300 {
		t.Errorf("a client that stopped sending got status %d with %q", answer.Status, answer.Body)
	}
}

// notBlamed checks that every replica is in full service.
func (r *rig) notBlamed(t *testing.T) {
	t.Helper()
	m := r.metrics()
	if closed := sum(m, "sluice_breaker_state", `state="closed"`); closed != sum(m, "sluice_breaker_state") || closed == 0 {
		t.Errorf("not every breaker is closed: %v", m)
	}
	r.eachReplica(func(s router.ReplicaReport) {
		if s.State != router.Ready {
			t.Errorf("replica %s is %s, want ready", s.Address, s.State)
		}
	})
}

// spread sums up durations.
func spread(all []time.Duration) string {
	slices.Sort(all)
	quantile := func(q float64) time.Duration { return all[int(q*float64(len(all)-1))].Round(time.Microsecond) }
	return fmt.Sprintf("n %d, p50 %v, p90 %v, p99 %v, max %v", len(all), quantile(.5), quantile(.9), quantile(.99), quantile(1))
}

// A client that leaves the queue frees its place at once and never reaches a replica.
func TestDepartureFromTheQueue(t *testing.T) {
	atEachEntrance(t, 1, "timeouts: {release_after_cancel: 20ms}\n", func(t *testing.T, e entrance, rep *gatewaytest.Replica) {
		rep.Next(gatewaytest.Stall())
		occupant := e.send(t, true)
		rep.Call(0)
		var waits []time.Duration
		for i, way := range slices.Concat(ways, ways) {
			c := e.send(t, i < len(ways))
			eventually(t, "it waits", func() bool { return e.waiting() == 1 })
			left := time.Now()
			if err := way.leave(c); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the queue is empty", func() bool { return e.waiting() == 0 })
			waits = append(waits, time.Since(left))
			eventually(t, "it is counted", func() bool { return e.outcomes(router.ClientGoneQueued) == i+1 })
			if way.name == "half-close" {
				notAnswered(t, c, false)
			}
		}
		occupant.Close()
		e.quiet()
		if n := len(rep.Calls()); n != 1 {
			t.Errorf("the replica got %d calls, want only the first", n)
		}
		t.Log("from a client's departure to an empty queue (looked at every 2 ms):", spread(waits))
	})
}

// waiting is how many requests wait in the gateway's queues.
func (r *rig) waiting() (n int) {
	for _, q := range r.g.gate.State().Queues {
		n += q.Waiting
	}
	return n
}

// Of many streams at once each that is left ends by itself and soon; the rest go on.
func TestDeparturesAmongManyStreams(t *testing.T) {
	const streams, leavers = 64, 48
	atEachEntrance(t, streams, "timeouts: {release_after_cancel: 20ms}\n", func(t *testing.T, e entrance, rep *gatewaytest.Replica) {
		release := make(chan struct{})
		rep.Script(gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(gatewaytest.Role, gatewaytest.Content("a")),
			gatewaytest.Wait(release), gatewaytest.Chunks(gatewaytest.Finish("b", "stop"), gatewaytest.Done), gatewaytest.Send(gatewaytest.FinalChunk))
		clients := make([]*gatewaytest.Client, streams)
		for i := range clients {
			clients[i] = e.send(t, true)
			rep.Call(i) // in the same order
			readUpTo(t, clients[i], gatewaytest.Content("a"))
		}
		var waits []time.Duration
		for i, c := range clients[:leavers] {
			left := time.Now()
			if err := ways[i%len(ways)].leave(c); err != nil {
				t.Fatal(err)
			}
			waits = append(waits, rep.Calls()[i].WaitGone(t).Sub(left))
		}
		close(release)
		for _, c := range clients[leavers:] {
			if events, ending := c.Timeline(); ending != gatewaytest.Whole || events[len(events)-1].Raw != gatewaytest.Done {
				t.Errorf("a stream beside those that were left ended %v with %q", ending, events)
			}
		}
		e.quiet()
		e.notBlamed(t)
		if gone, done := e.outcomes(router.ClientGoneStreaming), e.outcomes(router.Completed); gone != leavers || done != streams-leavers {
			t.Errorf("client_gone_streaming %d, completed %d; want %d and %d", gone, done, leavers, streams-leavers)
		}
		t.Log("from a client's departure to the replica's seeing it:", spread(waits))
	})
}

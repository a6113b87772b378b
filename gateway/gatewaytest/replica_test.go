package gatewaytest

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestClientTellsHowAnAnswerEnded(t *testing.T) {
	body := `{"a":1}`
	f := func(name string, want Ending, script ...Step) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			r := NewReplica(t, script...)
			if got := Post(t, r.Address(), "/v1/x", body); got.Status != 200 || got.Ending != want {
				t.Errorf("got status %d, ending %v (%v), want 200, %v", got.Status, got.Ending, got.Err, want)
			}
		})
	}
	f("chat stream", Whole, ChatStream("a", "b")...)
	f("content length", Whole, Send(JSON(200, "{}")))
	f("no final chunk", Cut, Send(SSEHead), Chunks(Role), Close())
	f("inside a chunk", Cut, Send(SSEHead), Send("ff\r\ndata:"), Close())
	f("reset", Cut, Send(SSEHead), Chunks(Role), Pause(20*time.Millisecond), Reset())
	f("short of its length", Cut, Send(SSEHeadLength(5000)), Send(Role), Close())
	f("unframed", Unframed, Send(SSEHeadUnframed), Send(Role), Close())
	f("one byte at a time", Whole, SendBytewise(0, SSEHead+Chunk(Done)+FinalChunk))
	f("empty", Whole, Send(Head(200, "content-length: 0")))
}

func TestReplicaSendsExactlyTheScript(t *testing.T) {
	r := NewReplica(t, ChatStream("one", " two")...)
	got := Post(t, r.Address(), "/v1/chat/completions", "{}")
	if want := strings.Join(ChatEvents("one", " two"), ""); string(got.Body) != want {
		t.Errorf("got body\n%s\nwant\n%s", got.Body, want)
	}
	if n := len(got.Events()); n != 4 { // role, "one", the last token with its finish reason, [DONE]
		t.Errorf("got %d events, want 4", n)
	}
	if data := got.Events()[3].Data(); data != "[DONE]" {
		t.Errorf("got last data %q, want [DONE]", data)
	}
}

func TestReplicaRecordsTheRequest(t *testing.T) {
	r := NewReplica(t, Send(JSON(200, "{}")))
	raw := "POST /v1/x?y=1 HTTP/1.1\r\nHost: h\r\nX-Two: a\r\nx-two: b\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;ext\r\nde\r\n0\r\n\r\n"
	c := Connect(t, r.Address())
	for range 2 { // twice on one connection
		if err := c.Send(raw); err != nil {
			t.Fatal(err)
		}
		if answer, err := c.ReadAnswer(); err != nil || answer.Status != 200 {
			t.Fatalf("got %+v, %v", answer, err)
		}
	}
	call := r.Call(1)
	sum := sha256.Sum256([]byte("abcde"))
	if string(call.Raw) != raw || string(call.Body) != "abcde" || call.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("got raw %q, body %q, hash %s", call.Raw, call.Body, call.SHA256)
	}
	if call.Method != "POST" || call.Path != "/v1/x?y=1" || strings.Join(call.Header.Values("X-Two"), ",") != "a,b" {
		t.Errorf("got %s %s %v", call.Method, call.Path, call.Header)
	}
	if call.Conn != 1 || r.Connections() != 1 || call.Arrived.IsZero() {
		t.Errorf("got connection %d of %d, arrived %v", call.Conn, r.Connections(), call.Arrived)
	}
}

func TestReplicaSeesThePeerLeave(t *testing.T) {
	cert, trust := Certificate(t)
	plain, secure := NewReplica(t, Stall()), NewTLSReplica(t, cert, Stall())
	f := func(name string, r *Replica, cfg *tls.Config, leave func(*Client)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			before := len(r.Calls())
			c := dial(t, r, cfg)
			if err := c.Send(Request("POST", "/v1/x", "{}")); err != nil {
				t.Fatal(err)
			}
			call := r.Call(before)
			left := time.Now()
			leave(c)
			if at := call.WaitGone(t); at.Before(left) {
				t.Errorf("seen %v before it left", left.Sub(at))
			}
			call.WaitDone(t)
			r.WaitRunning(0)
		})
	}
	f("close", plain, nil, func(c *Client) { c.Close() })
	f("reset", plain, nil, func(c *Client) { c.Reset() })
	f("half close", plain, nil, func(c *Client) { c.CloseWrite() })
	f("TLS close", secure, trust, func(c *Client) { c.Close() })
	f("TLS reset", secure, trust, func(c *Client) { c.Reset() })
	f("behind pipelined bytes", plain, nil, func(c *Client) { c.Send("POST /next"); c.Close() })
}

func dial(t *testing.T, r *Replica, cfg *tls.Config) *Client {
	if cfg != nil {
		return ConnectTLS(t, r.Address(), cfg)
	}
	return Connect(t, r.Address())
}

func TestPipelinedRequestIsServedNext(t *testing.T) {
	release := make(chan struct{})
	r := NewReplica(t, Send(JSON(200, `"second"`)))
	r.Next(Wait(release), Send(JSON(200, `"first"`)))
	c := Connect(t, r.Address())
	request := Request("POST", "/v1/x", "{}")
	if err := c.Send(request + request); err != nil {
		t.Fatal(err)
	}
	r.Call(0)
	close(release)
	for _, want := range []string{`"first"`, `"second"`} {
		if answer, err := c.ReadAnswer(); err != nil || string(answer.Body) != want {
			t.Fatalf("got %+v, %v, want %s", answer, err, want)
		}
	}
}

func TestReplicaRefusesAndComesBack(t *testing.T) {
	r := NewReplica(t, Send(JSON(200, "{}")))
	r.Refuse()
	if got := Post(t, r.Address(), "/v1/x", "{}"); got.Status != 0 || got.Err == nil {
		t.Errorf("got status %d from a replica that refuses", got.Status)
	}
	r.Accept()
	if got := Post(t, r.Address(), "/v1/x", "{}"); got.Status != 200 {
		t.Errorf("got status %d (%v) after it came back", got.Status, got.Err)
	}
}

func TestUnansweredHangs(t *testing.T) {
	_, err := net.DialTimeout("tcp", Unanswered(t), 50*time.Millisecond)
	if err == nil || !os.IsTimeout(err) {
		t.Errorf("got %v, want a timeout", err)
	}
}

func TestTLSConnectionIsReused(t *testing.T) {
	cert, trust := Certificate(t)
	r := NewTLSReplica(t, cert, Send(JSON(200, "{}")))
	c := ConnectTLS(t, r.Address(), trust)
	for range 3 {
		c.Send(Request("POST", "/v1/x", "{}"))
		if answer, err := c.ReadAnswer(); err != nil || answer.Ending != Whole {
			t.Fatalf("got %+v, %v", answer, err)
		}
	}
	if r.Connections() != 1 || !strings.HasPrefix(r.URL(), "https://") {
		t.Errorf("got %d connections to %s", r.Connections(), r.URL())
	}
}

func TestCrashResetsOpenConnections(t *testing.T) {
	r := NewReplica(t, Send(SSEHead), Chunks(Role), Stall())
	c := Connect(t, r.Address())
	c.Send(Request("POST", "/v1/x", "{}"))
	c.ReadHead()
	c.ReadEvent()
	r.Crash()
	if _, ending := c.Timeline(); ending != Cut {
		t.Errorf("got ending %v, want cut", ending)
	}
}

func TestProbesAreNotCalls(t *testing.T) {
	r := NewReplica(t)
	for _, path := range []string{"/health", "/v1/models", "/metrics"} {
		if got := Get(t, r.Address(), path); got.Status != 200 {
			t.Errorf("%s: got status %d (%v)", path, got.Status, got.Err)
		}
	}
	r.On("/health", Send(JSON(503, "{}")))
	if got := Get(t, r.Address(), "/health"); got.Status != 503 {
		t.Errorf("got status %d, want the script's 503", got.Status)
	}
	if r.Probes("/health") != 2 || len(r.Calls()) != 0 {
		t.Errorf("got %d probes, %d calls, want 2, 0", r.Probes("/health"), len(r.Calls()))
	}
}

func TestPeakCountsCallsAtOnce(t *testing.T) {
	release := make(chan struct{})
	r := NewReplica(t, Wait(release), Send(JSON(200, "{}")))
	var clients sync.WaitGroup
	for range 5 {
		clients.Go(func() {
			if got := Post(t, r.Address(), "/v1/x", "{}"); got.Status != 200 {
				t.Errorf("got status %d (%v)", got.Status, got.Err)
			}
		})
	}
	r.WaitRunning(5)
	close(release)
	clients.Wait()
	r.WaitRunning(0)
	if r.Peak() != 5 {
		t.Errorf("got peak %d, want 5", r.Peak())
	}
}

func TestKeepAliveEndsIdleConnections(t *testing.T) {
	for _, resets := range []bool{false, true} {
		r := NewReplica(t, Send(JSON(200, "{}")))
		r.KeepAlive(30*time.Millisecond, resets)
		c := Connect(t, r.Address())
		c.Send(Request("POST", "/v1/x", "{}"))
		c.ReadAnswer()
		if err := c.WaitClosed(); (err != nil) != resets {
			t.Errorf("resets %v: the connection ended with %v", resets, err)
		}
	}
}

func TestNeverReadLeavesTheBodyInTheSocket(t *testing.T) {
	r := InMemory(t, NeverRead())
	conn, _ := r.Dial(context.Background(), "", "")
	defer conn.Close()
	conn.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	n, err := conn.Write([]byte(Request("POST", "/v1/x", strings.Repeat("x", 1<<20))))
	if !os.IsTimeout(err) || n > 64<<10 {
		t.Errorf("wrote %d bytes, %v; want to be stuck", n, err)
	}
}

func TestEarlyAnswersBeforeTheBody(t *testing.T) {
	r := NewReplica(t, Early(Send(JSON(413, "{}"))))
	c := Connect(t, r.Address())
	request := Request("POST", "/v1/x", "{}")
	c.Send(request[:len(request)-2])
	if answer, err := c.ReadAnswer(); err != nil || answer.Status != 413 {
		t.Fatalf("got %+v, %v", answer, err)
	}
	c.Send("{}" + Request("GET", "/health", ""))
	if answer, err := c.ReadAnswer(); err != nil || answer.Status != 200 {
		t.Fatalf("got %+v, %v for the next request", answer, err)
	}
}

func TestInMemoryReplicaObeysFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := InMemory(t, Send(SSEHead), ChunksEach(5*time.Second, Content("a"), Content("b"), Done), Send(FinalChunk))
		conn, err := r.Dial(t.Context(), "tcp", "any")
		if err != nil {
			t.Fatal(err)
		}
		c := NewClient(t, conn)
		if err := c.Send(Request("POST", "/v1/x", "{}")); err != nil {
			t.Fatal(err)
		}
		c.ReadHead()
		events, ending := c.Timeline()
		if gaps := Gaps(events); ending != Whole || len(gaps) != 2 || gaps[0] != 5*time.Second || gaps[1] != 5*time.Second {
			t.Errorf("got ending %v, gaps %v, want two of exactly 5 s", ending, gaps)
		}
	})
}

func TestZeroCheckWaitsForTheBaseline(t *testing.T) {
	reads := []int{0, 2, 1, 0} // the baseline, then what comes back slowly
	check := ZeroCheck(t, Gauge{Name: "n", Read: func() int {
		n := reads[0]
		reads = reads[1:]
		return n
	}}, Goroutines(), Descriptors())
	check()
	if len(reads) != 0 {
		t.Errorf("%d values were not read", len(reads))
	}
}

func TestCertificateFilesLoad(t *testing.T) {
	cert, _ := Certificate(t)
	if _, err := tls.LoadX509KeyPair(CertificateFiles(t, cert)); err != nil {
		t.Error(err)
	}
}

package replica

import (
	"bytes"
	"context"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// rawReplica answers every request at once, with as little work as possible:
// it looks for the blank line and the body's known size.
func rawReplica(b testing.TB, bodySize int, answer string) *stub {
	return newStub(b, func(_ int, p *peer) {
		buf, n, out := make([]byte, 64<<10), 0, []byte(answer)
		for {
			m, err := p.Read(buf[n:])
			if err != nil {
				return
			}
			n += m
			if i := bytes.Index(buf[:n], []byte("\r\n\r\n")); i >= 0 && n == i+4+bodySize {
				n = 0
				p.Write(out)
			}
		}
	})
}

func jsonAnswer(size int) string {
	return "HTTP/1.1 200 OK\r\ndate: Thu, 01 Jan 2026 00:00:00 GMT\r\nserver: uvicorn\r\ncontent-length: " +
		strconv.Itoa(size) + "\r\ncontent-type: application/json\r\n\r\n" + strings.Repeat("j", size)
}

func streamAnswer(events int) string {
	const event = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word\"}}]}\n\n"
	chunk := strconv.FormatInt(int64(len(event)), 16) + "\r\n" + event + "\r\n"
	return "HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\n" +
		"transfer-encoding: chunked\r\n\r\n" + strings.Repeat(chunk, events) + "0\r\n\r\n"
}

// BenchmarkDo is a request of 2 KB and its whole answer over loopback, beside
// fasthttp's HostClient against the same replica in the same run. The replica's
// own work is in both.
func BenchmarkDo(b *testing.B) {
	body := bytes.Repeat([]byte("b"), 2048)
	for _, answer := range []struct{ name, text string }{
		{"json300", jsonAnswer(300)}, {"json32K", jsonAnswer(32 << 10)}, {"stream200", streamAnswer(200)},
	} {
		s := rawReplica(b, len(body), answer.text)
		dial := func() (net.Conn, error) { return net.Dial("tcp", s.ln.Addr().String()) }
		b.Run(answer.name+"/sluice", func(b *testing.B) { benchOurs(b, dial, body) })
		b.Run(answer.name+"/fasthttp", func(b *testing.B) { benchTheirs(b, dial, body) })
	}
}

// BenchmarkDoInMemory is the same without a network: only the client's own work.
func BenchmarkDoInMemory(b *testing.B) {
	body := bytes.Repeat([]byte("b"), 2048)
	for _, answer := range []struct{ name, text string }{
		{"json300", jsonAnswer(300)}, {"stream200", streamAnswer(200)},
	} {
		dial := func() (net.Conn, error) { return &instant{answer: answer.text}, nil }
		b.Run(answer.name+"/sluice", func(b *testing.B) { benchOurs(b, dial, body) })
		b.Run(answer.name+"/fasthttp", func(b *testing.B) { benchTheirs(b, dial, body) })
	}
}

var benchHeader = []Field{
	{"Content-Type", "application/json"}, {"Accept-Encoding", "identity"},
	{"Authorization", "Bearer 0123456789abcdef"}, {"X-Request-Id", "0123456789abcdef"},
}

func benchOurs(b *testing.B, dial func() (net.Conn, error), body []byte) {
	c := newClient(b, Options{URL: "http://replica",
		Dial: func(context.Context, string, string) (net.Conn, error) { return dial() }})
	buf := make([]byte, 16<<10)
	b.ReportAllocs()
	for b.Loop() {
		if err := roundTrip(c, body, buf); err != nil {
			b.Fatal(err)
		}
	}
}

func roundTrip(c *Client, body, buf []byte) error {
	var call Call
	a, err := c.Do(&call, &Request{Method: "POST", Path: "/v1/chat/completions", Header: benchHeader,
		Body: [][]byte{body}, FirstByte: time.Now().Add(time.Minute)})
	if err != nil {
		return err
	}
	defer a.Close()
	a.SetReadTimeout(time.Minute)
	for !a.Ended() {
		if _, err := a.Read(buf); err != nil {
			return err
		}
	}
	return nil
}

func benchTheirs(b *testing.B, dial func() (net.Conn, error), body []byte) {
	hc := &fasthttp.HostClient{Addr: "replica:80", StreamResponseBody: true, ReadBufferSize: 16 << 10,
		ReadTimeout: time.Minute, Dial: func(string) (net.Conn, error) { return dial() }}
	defer hc.CloseIdleConnections()
	buf := make([]byte, 16<<10)
	b.ReportAllocs()
	for b.Loop() {
		if err := roundTripTheirs(hc, body, buf); err != nil {
			b.Fatal(err)
		}
	}
}

func roundTripTheirs(hc *fasthttp.HostClient, body, buf []byte) error {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.Header.SetMethod("POST")
	req.SetRequestURI("http://replica/v1/chat/completions")
	for _, f := range benchHeader {
		req.Header.Set(f.Name, f.Value)
	}
	req.SetBodyRaw(body)
	if err := hc.Do(req, resp); err != nil {
		return err
	}
	for {
		if _, err := resp.BodyStream().Read(buf); err != nil {
			return resp.CloseBodyStream()
		}
	}
}

// TestAllocations of a request on a kept connection: the head's text. The call
// is the caller's.
func TestAllocations(t *testing.T) {
	body := bytes.Repeat([]byte("b"), 2048)
	answer := jsonAnswer(300)
	c := newClient(t, Options{URL: "http://h", Dial: func(context.Context, string, string) (net.Conn, error) {
		return &instant{answer: answer}, nil
	}})
	buf := make([]byte, 16<<10)
	if got := testing.AllocsPerRun(200, func() { roundTrip(c, body, buf) }); got > 4 {
		t.Errorf("got %v allocations per request, want at most 4: call, request and its body list, the head's text", got)
	}
}

// instant is a connection that answers each request as soon as it is read, and
// says nothing in between.
type instant struct {
	net.Conn // nil: what isn't below isn't used
	answer   string
	at       int // in the answer
	asked    bool
}

func (c *instant) Write(p []byte) (int, error) { c.asked = true; return len(p), nil }

func (c *instant) Read(p []byte) (int, error) {
	if !c.asked {
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(p, c.answer[c.at:])
	if c.at += n; c.at == len(c.answer) {
		c.at, c.asked = 0, false
	}
	return n, nil
}

func (c *instant) SetDeadline(time.Time) error      { return nil }
func (c *instant) SetReadDeadline(time.Time) error  { return nil }
func (c *instant) SetWriteDeadline(time.Time) error { return nil }
func (c *instant) Close() error                     { return nil }
func (c *instant) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *instant) RemoteAddr() net.Addr             { return &net.TCPAddr{} }

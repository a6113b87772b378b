package conn_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"sluice/gateway/conn"
)

const get = "GET / HTTP/1.1\r\nHost: sluice\r\n\r\n"

// A fasthttp server's handler waits for a replica, and hears that its client
// has left. Pipelined requests are served and aren't departures.
func TestUnderFasthttp(t *testing.T) {
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			left, waiting := make(chan struct{}), make(chan struct{})
			requests := 0
			address := serve(t, secure, func(ctx *fasthttp.RequestCtx) {
				c := conn.Of(ctx.Conn())
				gone := make(chan struct{})
				c.Watch(func() { close(gone) })
				defer c.Unwatch()
				if requests++; requests != 3 {
					return
				}
				close(waiting)
				<-gone
				close(left)
			})
			tcp, client := dialServer(t, address, secure)
			io.WriteString(client, get+get+get+get)
			await(t, waiting) // the third is waited for, the fourth is pipelined
			select {
			case <-left:
				t.Fatal("pipelined bytes were taken for a departure")
			default:
			}
			tcp.Close()
			await(t, left)
		})
	}
}

// A request that is refused before its body was read: the client sends on, and
// reads the refusal.
func TestEarlyRefusalUnderFasthttp(t *testing.T) {
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			address := serve(t, secure, func(ctx *fasthttp.RequestCtx) {
				ctx.SetStatusCode(fasthttp.StatusRequestEntityTooLarge)
				ctx.SetConnectionClose()
				conn.Of(ctx.Conn()).Linger()
			})
			for range 5 {
				tcp, client := dialServer(t, address, secure)
				fmt.Fprintf(client, "POST / HTTP/1.1\r\nHost: sluice\r\nContent-Length: %d\r\n\r\n", 3<<20)
				if _, err := client.Write(make([]byte, 3<<20)); err != nil {
					t.Fatalf("send the body: %v", err)
				}
				readStatus(t, bufio.NewReader(client), fasthttp.StatusRequestEntityTooLarge)
				tcp.Close()
			}
		})
	}
}

// serve runs a server until the test ends, and returns its address.
func serve(t *testing.T, secure bool, h fasthttp.RequestHandler) string {
	t.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var ln net.Listener
	ln, err = conn.NewListener(plain, conn.Options{WriteStall: 30 * time.Second, LingerTime: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if secure {
		ln = tls.NewListener(ln, serverTLS(t))
	}
	s := &fasthttp.Server{Handler: h, StreamRequestBody: true}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ln) }()
	t.Cleanup(func() {
		s.Shutdown()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return plain.Addr().String()
}

// serverTLS borrows the certificate of net/http's test server.
func serverTLS(t *testing.T) *tls.Config {
	s := httptest.NewTLSServer(nil)
	t.Cleanup(s.Close)
	return &tls.Config{Certificates: s.TLS.Certificates}
}

func dialServer(t *testing.T, address string, secure bool) (tcp, client net.Conn) {
	t.Helper()
	tcp, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tcp.Close() })
	tcp.SetDeadline(time.Now().Add(30 * time.Second))
	if secure {
		return tcp, tls.Client(tcp, &tls.Config{InsecureSkipVerify: true})
	}
	return tcp, tcp
}

func readStatus(t *testing.T, r *bufio.Reader, want int) {
	t.Helper()
	var answer fasthttp.Response
	if err := answer.Read(r); err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode() != want {
		t.Fatalf("got status %d, want %d", answer.StatusCode(), want)
	}
}

func await(t *testing.T, done chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("waited in vain")
	}
}

package conn

import (
	"io"
	"net"
	"testing"
	"time"
)

const refusal = "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

// A client sends a large body, is refused after the head, and must be able to
// send on and then read the whole refusal.
func TestLingerLetsTheClientReadARefusal(t *testing.T) {
	for _, tr := range transports {
		if tr.background {
			continue // can't close one direction
		}
		t.Run(tr.name, func(t *testing.T) {
			s := newSite(t, tr, Options{LingerTime: 10 * time.Second})
			for range 20 {
				p := s.connect()
				closed := make(chan struct{})
				go func() {
					defer close(closed)
					io.ReadFull(p.server, make([]byte, len(request)))
					io.WriteString(p.server, refusal)
					p.conn.Linger()
					p.server.Close()
				}()
				send(t, p.client, request)
				if _, err := p.client.Write(make([]byte, 3<<20)); err != nil {
					t.Fatalf("send the body: %v", err)
				}
				if got, err := io.ReadAll(p.client); err != nil || string(got) != refusal {
					t.Fatalf("got %q, %v", got, err)
				}
				p.client.Close()
				<-closed
			}
		})
	}
}

// A client that sends for ever holds Close for a while only.
func TestLingerIsBounded(t *testing.T) {
	f := func(name string, o Options, sendOn bool) {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, transports[0], o)
			p := s.connect()
			if sendOn {
				go io.Copy(p.client, zeros{})
			}
			p.conn.Linger()
			start := time.Now()
			p.server.Close()
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("took %s", d)
			}
		})
	}
	f("by time, a silent client", Options{LingerTime: 10 * time.Millisecond}, false)
	f("by time, a busy client", Options{LingerTime: 10 * time.Millisecond, LingerBytes: 1 << 40}, true)
	f("by bytes", Options{LingerTime: time.Hour, LingerBytes: 64 << 10}, true)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestSecondCloseEndsLinger(t *testing.T) {
	s := newSite(t, transports[0], Options{LingerTime: time.Hour})
	p := s.connect()
	p.conn.Linger()
	closed := make(chan struct{})
	go func() {
		p.conn.Close()
		close(closed)
	}()
	if _, err := p.client.Read(make([]byte, 1)); err != io.EOF { // it lingers
		t.Fatalf("got %v, want EOF", err)
	}
	p.conn.Close()
	<-closed
}

// Nothing to linger for in memory: Close just closes.
func TestLingerInMemory(t *testing.T) {
	l, err := NewListener(newScripted(), Options{LingerTime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	server, client := net.Pipe()
	c := l.wrap(server)
	c.Linger()
	c.Close()
	if _, err := client.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("got %v, want EOF", err)
	}
}

package gatewaytest

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// session is one accepted connection of a replica.
type session struct {
	replica *Replica
	conn    net.Conn
	number  int
	source  *source
	reader  *reader
}

func newSession(r *Replica, conn net.Conn, number int) *session {
	src := &source{conn: conn}
	return &session{replica: r, conn: conn, number: number, source: src, reader: newReader(src)}
}

// serve answers request after request until one side ends the connection.
func (s *session) serve() {
	defer s.conn.Close()
	for s.one() {
	}
}

// one serves one request; false ends the connection.
func (s *session) one() bool {
	call, b, err := s.head()
	if err != nil {
		return false
	}
	script, probe := s.replica.script(call)
	if !probe {
		s.replica.enter()
		defer s.replica.leave()
	}
	defer close(call.done)
	err = s.answer(call, b, script, probe)
	return err == nil && call.Err == nil
}

// head reads the next request's head, waiting as long as the keep-alive time allows.
func (s *session) head() (*Call, *body, error) {
	s.reader.raw = nil
	idle, resets := s.replica.idleLimit()
	if idle > 0 {
		s.conn.SetReadDeadline(time.Now().Add(idle))
	}
	start, h, err := s.reader.head()
	if err != nil {
		if resets && errors.Is(err, os.ErrDeadlineExceeded) {
			reset(s.conn)
		}
		return nil, nil, err
	}
	s.conn.SetReadDeadline(time.Time{})
	method, rest, _ := strings.Cut(start, " ")
	path, _, _ := strings.Cut(rest, " ")
	call := &Call{Conn: s.number, Arrived: time.Now(), Method: method, Path: path, Header: h,
		session: s, gone: make(chan struct{}), done: make(chan struct{})}
	b, err := newBody(s.reader, h, framedLength)
	return call, b, err
}

// answer runs the script. An early first step comes before the body is read.
func (s *session) answer(call *Call, b *body, script Script, probe bool) error {
	publish := func() {
		if !probe {
			s.replica.record(call)
		}
	}
	if len(script) > 0 && script[0].early {
		call.finish(s.reader.raw, nil, nil)
		publish()
		if err := s.steps(call, script[:1]); err != nil {
			return err
		}
		if _, err := b.all(); err != nil {
			return err
		}
		return s.steps(call, script[1:])
	}
	content, err := b.all()
	call.finish(s.reader.raw, content, err)
	publish()
	if err != nil {
		call.leave()
		return err
	}
	return s.steps(call, script)
}

// steps runs steps while it watches for the peer's departure.
func (s *session) steps(call *Call, steps []Step) error {
	if len(steps) > 0 && !steps[0].early {
		stop := s.source.watch(call.leave)
		defer stop()
	}
	return call.run(steps)
}

// source reads a connection; while it is watched, bytes that come are kept for later.
type source struct {
	conn  net.Conn
	ahead []byte
}

func (s *source) Read(p []byte) (int, error) {
	if len(s.ahead) > 0 {
		n := copy(p, s.ahead)
		s.ahead = s.ahead[n:]
		return n, nil
	}
	return s.conn.Read(p)
}

// watch reads ahead in a goroutine, so that the end of the connection is seen
// at once, behind pipelined bytes too; then it calls gone. stop ends the
// watching and waits for it.
func (s *source) watch(gone func()) (stop func()) {
	var watching sync.WaitGroup
	watching.Go(func() {
		p := make([]byte, 4<<10)
		for {
			n, err := s.conn.Read(p)
			s.ahead = append(s.ahead, p[:n]...)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return
			}
			if err != nil {
				gone()
				return
			}
		}
	})
	return func() {
		s.conn.SetReadDeadline(time.Unix(1, 0)) // long past: wakes the reader
		watching.Wait()
		s.conn.SetReadDeadline(time.Time{})
	}
}

// reset closes a connection with a TCP reset where it has TCP below.
func reset(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}

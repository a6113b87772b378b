package chaos

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// visit is one request as its client lives it. The world's mutex guards it, but
// for w and o.
type visit struct {
	w    *world
	o    *order
	sent time.Time // the whole request; zero: not yet
	gone time.Time // the client has left; zero: it hasn't
	over bool      // nothing more will come of it

	status int // of the answer; 0: none came
	header http.Header
	body   []byte
	err    error // nil: the answer's framing ended well

	jobs []*job // attempts that reached a replica
}

func (w *world) book(what func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	what()
}

// visit finds the n-th request; nil: there is none.
func (w *world) visit(n int) (v *visit) {
	w.book(func() {
		if n >= 0 && n < len(w.visits) {
			v = w.visits[n]
		}
	})
	return v
}

func (v *visit) sentAt() (at time.Time) {
	v.w.book(func() { at = v.sent })
	return at
}

// call sends a client's requests one after the other, on one connection as long
// as it lives.
func (w *world) call(list []*visit) {
	var c *end
	var ears *listener
	var in *bufio.Reader
	for _, v := range list {
		if c == nil {
			fresh, err := w.data.connect(40000 + v.o.n)
			if err != nil {
				w.book(func() { v.over, v.err = true, err })
				continue
			}
			c, ears = fresh, &listener{c: fresh, w: w}
			in = bufio.NewReader(ears)
		}
		ears.v, ears.got = v, 0
		if !w.ask(c, in, v) {
			c.Close()
			c = nil
		}
		w.book(func() { v.over = true })
	}
	if c != nil {
		c.Close()
	}
}

// listener is a client's reading side: it may be slow, and may leave after a byte.
type listener struct {
	c   *end
	w   *world
	v   *visit
	got int
}

func (l *listener) Read(p []byte) (int, error) {
	o := l.v.o
	if o.reads > 0 {
		<-time.After(o.reads)
		p = p[:min(len(p), 700)]
	}
	if o.gotBytes >= 0 && o.leaves != halfClosed {
		p = p[:max(1, min(len(p), o.gotBytes-l.got))]
	}
	n, err := l.c.Read(p)
	if l.got += n; o.gotBytes >= 0 && l.got >= o.gotBytes {
		l.w.leave(l.c, l.v)
	}
	return n, err
}

// leave is the client's departure.
func (w *world) leave(c *end, v *visit) {
	first := false
	w.book(func() {
		if first = v.gone.IsZero() && !v.over; first {
			v.gone = time.Now()
		}
	})
	if !first {
		return
	}
	switch v.o.leaves {
	case byReset:
		c.reset()
	case halfClosed:
		_ = c.CloseWrite()
	default:
		c.Close()
	}
}

// text is the request as it goes over the wire.
func (o *order) text() string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nx-request-id: %s\r\n%sContent-Length: %d\r\n\r\n%s",
		o.at.path, o.id(), strings.Join(append(o.lines, ""), "\r\n"), len(o.body), o.body)
}

// ask sends one request and reads its answer. It reports whether the connection
// may be used again.
func (w *world) ask(c *end, in *bufio.Reader, v *visit) bool {
	text := v.o.text()
	if k := v.o.sentBytes; k >= 0 && k < len(text) {
		_, _ = io.WriteString(c, text[:k])
		w.leave(c, v)
		return false
	}
	w.book(func() { v.sent = time.Now() })
	if _, err := io.WriteString(c, text); err != nil {
		w.book(func() { v.err = err })
		return false
	}
	if v.o.patience > 0 {
		t := time.AfterFunc(v.o.patience, func() { w.leave(c, v) })
		defer t.Stop()
	}
	return w.listen(in, v)
}

func (w *world) listen(in *bufio.Reader, v *visit) bool {
	answer, err := http.ReadResponse(in, &http.Request{Method: http.MethodPost})
	if err != nil {
		w.book(func() { v.err = err })
		return false
	}
	w.book(func() { v.status, v.header = answer.StatusCode, answer.Header })
	buf := make([]byte, 4<<10)
	for err == nil {
		var n int
		n, err = answer.Body.Read(buf)
		w.book(func() { v.body = append(v.body, buf[:n]...) })
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	w.book(func() { v.err = err })
	return err == nil && !answer.Close && v.o.leaves == stays
}

// scrape asks one of the side listeners.
func scrape(d *door, path string) (string, error) {
	c, err := d.connect(50000)
	if err != nil {
		return "", err
	}
	defer c.Close()
	fmt.Fprintf(net.Conn(c), "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: status %d", path, answer.StatusCode)
	}
	return string(text), err
}

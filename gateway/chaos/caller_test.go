package chaos

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

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
				w.book(func() { v.end(err) })
				continue
			}
			c, ears = fresh, &listener{c: fresh, w: w}
			in = bufio.NewReader(ears)
		}
		ears.turn(v)
		if !w.ask(c, in, v) {
			c.Close()
			c = nil
		}
		w.book(func() { v.end(nil) })
	}
	if c != nil {
		c.Close()
	}
}

// pipe sends requests before the answers to those before them have come, and reads
// the answers as they come.
func (w *world) pipe(list []*visit) {
	c, err := w.data.connect(40000 + list[0].o.n)
	if err != nil {
		w.endUnread(list, err)
		return
	}
	defer c.Close()
	sent := make([]chan struct{}, len(list))
	w.book(func() {
		for i, v := range list {
			v.on, v.mates, v.behind, sent[i] = c, list, i > 0, make(chan struct{})
		}
	})
	w.all.Go(func() { w.sendAhead(c, list, sent) })
	ears := &listener{c: c, w: w}
	in := bufio.NewReader(ears)
	for i, v := range list {
		<-sent[i]
		ears.turn(v)
		ok := w.heed(c, in, v)
		w.book(func() { v.end(nil) })
		if !ok {
			w.endUnread(list[i+1:], nil)
			return
		}
	}
}

// sendAhead sends all in one piece, or a little time after each other. That it can't
// shows when an answer is read.
func (w *world) sendAhead(c *end, list []*visit, sent []chan struct{}) {
	text := ""
	for i, v := range list {
		if v.o.ahead > 0 {
			<-time.After(v.o.ahead)
		}
		w.book(func() {
			if !v.over && v.gone.IsZero() {
				v.sent = time.Now()
			}
		})
		text += v.o.text()
		if i+1 == len(list) || list[i+1].o.ahead > 0 {
			_, _ = io.WriteString(c, text)
			text = ""
		}
		close(sent[i])
	}
}

// endUnread: the connection has ended before the turn of these.
func (w *world) endUnread(list []*visit, err error) {
	w.book(func() {
		for _, v := range list {
			v.unread = true
			v.end(err)
		}
	})
}

// leave is the client's departure, from all that it has sent.
func (w *world) leave(c *end, v *visit) {
	first := false
	w.book(func() {
		if first = v.gone.IsZero() && !v.over; !first {
			return
		}
		v.gone = time.Now()
		for _, mate := range v.mates {
			if mate.gone.IsZero() && !mate.over {
				mate.gone = v.gone
			}
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
	version := map[bool]string{false: "1.1", true: "1.0"}[o.old]
	return fmt.Sprintf("POST %s HTTP/%s\r\nHost: gateway\r\nContent-Type: application/json\r\nx-request-id: %s\r\n%sContent-Length: %d\r\n\r\n%s",
		o.at.path, version, o.id(), strings.Join(append(o.lines, ""), "\r\n"), len(o.body), o.body)
}

// ask sends one request and reads its answer. It reports whether the connection
// may be used again.
func (w *world) ask(c *end, in *bufio.Reader, v *visit) bool {
	text := v.o.text()
	w.book(func() { v.on = c })
	if k := v.o.sentBytes; k >= 0 && k < len(text) {
		_, _ = io.WriteString(c, text[:k])
		w.leave(c, v)
		return false
	}
	if err := w.send(c, v, text); err != nil {
		w.book(func() { v.err = err })
		if v.o.pieces > 1 { // who is too slow is told so
			w.listen(in, v)
		}
		return false
	}
	return w.heed(c, in, v) && v.o.leaves == stays && v.o.holds == 0
}

// send writes a request, some in pieces.
func (w *world) send(c *end, v *visit, text string) error {
	size := len(text)/max(v.o.pieces, 1) + 1
	for ; len(text) > size; text = text[size:] {
		if _, err := io.WriteString(c, text[:size]); err != nil {
			return err
		}
		<-time.After(v.o.between)
	}
	w.book(func() { v.sent = time.Now() })
	_, err := io.WriteString(c, text)
	return err
}

// heed waits for an answer, as long as the client has patience.
func (w *world) heed(c *end, in *bufio.Reader, v *visit) bool {
	if v.o.patience > 0 {
		t := time.AfterFunc(time.Until(v.sentAt().Add(v.o.patience)), func() { w.leave(c, v) })
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
	w.book(func() { v.status, v.header, v.answered = answer.StatusCode, answer.Header, time.Now() })
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
	return err == nil && !answer.Close
}

package chaos

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// line is a connection on which an answer is given.
type line struct {
	*end
	in   *bufio.Reader
	left chan error // what came of looking for the next byte of the client
}

// watch looks whether the client leaves.
func (l *line) watch(w *world) {
	l.left = make(chan error, 1)
	w.all.Go(func() {
		_, err := l.in.Peek(1)
		l.left <- err
	})
}

// wait reports false when the client left first.
func (l *line) wait(d time.Duration) bool {
	if d <= 0 {
		d = 1
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.left:
		return false
	}
}

// work answers one request, and reports whether the connection may be used again.
func (m *machine) work(l *line, req *http.Request, body string) bool {
	id := req.Header.Get("X-Request-Id")
	name, try, retried := strings.Cut(id, "-")
	attempt := 1
	if retried {
		attempt, _ = strconv.Atoi(try)
	}
	n, err := strconv.Atoi(strings.TrimPrefix(name, "r"))
	v := m.w.visit(n)
	if err != nil || v == nil {
		m.w.fault("a replica got a request that nobody sent: id %q", id)
		return false
	}
	j := m.begin(v, attempt, body)
	l.watch(m.w)
	reuse := m.tell(j, l)
	m.w.book(func() { j.broke = !reuse || !j.good() })
	if !reuse {
		return false
	}
	return <-l.left == nil // the first byte of the next request
}

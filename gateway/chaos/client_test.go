package chaos

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// visit is one request as its client lives it. The world's mutex guards it, but
// for w and o.
type visit struct {
	w    *world
	o    *order
	sent time.Time // the whole request; zero: not yet
	on   *end      // its connection
	gone time.Time // the client has left; zero: it hasn't
	over bool      // nothing more will come of it

	mates  []*visit // requests that were sent together with it, itself among them
	behind bool     // it was sent before the one before it was answered
	unread bool     // its connection ended before its turn

	answered time.Time // when the head of the answer came, or nothing more would
	ended    time.Time // when it was over

	status int // of the answer; 0: none came
	header http.Header
	body   []byte
	err    error // nil: the answer's framing ended well

	jobs []*job // attempts that reached a replica
}

// end: nothing more will come of it. The caller holds the world's mutex.
func (v *visit) end(err error) {
	v.over, v.ended = true, time.Now()
	if err != nil {
		v.err = err
	}
	if v.answered.IsZero() {
		v.answered = v.ended
	}
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

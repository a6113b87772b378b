package gatewaytest

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// Ending is what a client can tell about how an answer ended.
type Ending uint8

// The endings.
const (
	EndingUnknown Ending = iota // nothing was read, or not to the end
	Whole                       // the final chunk came, or Content-Length is satisfied
	Unframed                    // the connection closed, and nothing says whether that was all
	Cut                         // the framing promised more, or the connection was reset
)

func (e Ending) String() string {
	return [...]string{EndingUnknown: "unknown", Whole: "whole", Unframed: "unframed", Cut: "cut"}[e]
}

// Response is an answer as a client saw it.
type Response struct {
	Proto  string
	Status int // 0: no answer came, see Err
	Header Header
	Body   []byte // decoded
	Ending Ending
	Err    error // why there is no answer, or what cut it
}

// Events are the whole events of the body, without times.
func (r *Response) Events() []Event {
	var events []Event
	for rest := r.Body; ; {
		n := eventEnd(rest)
		if n == 0 {
			return events
		}
		events = append(events, Event{Raw: string(rest[:n])})
		rest = rest[n:]
	}
}

// Target is where Post and Get send to: an address, over TLS when TLS is set,
// or any connection that Dial gives.
type Target struct {
	Address string
	TLS     *tls.Config
	Dial    func() (net.Conn, error) // instead of Address
}

// Post sends a JSON body on a connection of its own and reads the whole
// answer. It never fails the test: no answer is Status 0 with Err. So it may be
// called from any goroutine. lines are further header lines.
func Post(t testing.TB, address, path, body string, lines ...string) *Response {
	return Target{Address: address}.Fetch(t, Request("POST", path, body, lines...))
}

// Get is Post without a body.
func Get(t testing.TB, address, path string, lines ...string) *Response {
	return Target{Address: address}.Fetch(t, Request("GET", path, "", lines...))
}

// Fetch sends raw request bytes and reads the whole answer; see Post.
func (to Target) Fetch(t testing.TB, raw string) *Response {
	conn, err := to.connect()
	if err != nil {
		return &Response{Err: err}
	}
	defer conn.Close()
	c := &Client{Conn: conn, reader: newReader(conn)}
	// A server may answer before it has read everything; then sending fails
	// and there is still an answer to read.
	sent := c.Send(raw)
	answer, err := c.ReadAnswer()
	if err != nil {
		return &Response{Err: errors.Join(sent, err)}
	}
	return answer
}

func (to Target) connect() (net.Conn, error) {
	switch {
	case to.Dial != nil:
		return to.Dial()
	case to.TLS != nil:
		return tls.DialWithDialer(&net.Dialer{Timeout: Patience}, "tcp", to.Address, to.TLS)
	}
	return net.DialTimeout("tcp", to.Address, Patience)
}

// ReadAnswer reads a whole answer, past interim (1xx) ones. The error says that
// no head came; a cut body is in the Response.
func (c *Client) ReadAnswer() (*Response, error) {
	answer, err := c.ReadHead()
	for err == nil && answer.Status < 200 {
		answer, err = c.ReadHead()
	}
	if err != nil {
		return nil, err
	}
	answer.Body, answer.Err = c.ReadBody()
	answer.Ending = c.ending()
	return answer, nil
}

// ending judges how the body ended.
func (c *Client) ending() Ending {
	switch {
	case c.ended == nil:
		return EndingUnknown
	case c.ended != io.EOF:
		return Cut
	case c.body.framing == framedClose:
		return Unframed
	}
	return Whole
}

// Timeline reads the body event by event to its end; the times tell whether a
// stream came as it was made or in one lump.
func (c *Client) Timeline() (events []Event, ending Ending) {
	for {
		event, err := c.ReadEvent()
		if err != nil {
			return events, c.ending()
		}
		events = append(events, event)
	}
}

// Gaps are the times between consecutive events.
func Gaps(events []Event) []time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(events); i++ {
		gaps = append(gaps, events[i].At.Sub(events[i-1].At))
	}
	return gaps
}

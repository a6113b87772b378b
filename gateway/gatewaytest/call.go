package gatewaytest

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"testing"
	"time"
)

// Patience is how long the bench waits for something before it calls the test
// failed. It is generous, since nothing that works comes near it.
const Patience = 10 * time.Second

// Call is one request that a replica received, and what became of it. Its
// fields are set before a test can see it and don't change.
type Call struct {
	Conn    int       // number of the connection it came on, from 1
	Arrived time.Time // when its head was complete
	Method  string
	Path    string // with the query
	Header  Header
	Raw     []byte // every byte as it came: head, framing, body
	Body    []byte // decoded
	SHA256  string // of Body, in hex
	Err     error  // why the request is incomplete; nil when it is whole

	session *session
	gone    chan struct{} // closed when the peer has closed the connection
	done    chan struct{} // closed when the script has ended
	leaving sync.Once     // guards left and gone
	left    time.Time     // set before gone is closed
}

// Gone is closed when the peer closes the connection while the script runs.
func (c *Call) Gone() <-chan struct{} { return c.gone }

// Done is closed when the script has ended.
func (c *Call) Done() <-chan struct{} { return c.done }

// WaitGone waits for the peer to close the connection and says when it did.
// To be called from the test's own goroutine.
func (c *Call) WaitGone(t testing.TB) time.Time {
	t.Helper()
	await(t, c.gone, "the peer to close the connection of %s %s", c.Method, c.Path)
	return c.left
}

// WaitDone waits for the script to end.
// To be called from the test's own goroutine.
func (c *Call) WaitDone(t testing.TB) {
	t.Helper()
	await(t, c.done, "the script of %s %s to end", c.Method, c.Path)
}

// finish fills in what was read.
func (c *Call) finish(raw, body []byte, err error) {
	sum := sha256.Sum256(body)
	c.Raw, c.Body, c.Err, c.SHA256 = raw, body, err, hex.EncodeToString(sum[:])
}

// leave notes the peer's departure, which reading may find, or writing first.
func (c *Call) leave() {
	c.leaving.Do(func() {
		c.left = time.Now()
		close(c.gone)
	})
}

// await fails the test when signal isn't closed in good time.
func await(t testing.TB, signal <-chan struct{}, what string, args ...any) {
	t.Helper()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case <-signal:
	case <-timer.C:
		t.Fatalf("waited %v for "+what, append([]any{Patience}, args...)...)
	}
}

package gatewaytest

import (
	"errors"
	"time"
)

// Script is what a replica does with one request, step by step. When its last
// step is done the connection stays open for the next request, unless a step ended it.
type Script []Step

// Step is one act of a script.
type Step struct {
	early bool // runs before the request's body is read
	deaf  bool // nothing more is read from the connection
	do    func(*Call) error
}

// errOver ends the connection after a step that closed it on purpose.
var errOver = errors.New("the script ended the connection")

// errLeft ends the script because the peer has closed the connection.
var errLeft = errors.New("the peer closed the connection")

// Send writes s in one write.
func Send(s string) Step {
	return Step{do: func(c *Call) error { return c.write(s) }}
}

// SendEach writes each piece in a write of its own, with a gap between them.
func SendEach(gap time.Duration, pieces ...string) Step {
	return Step{do: func(c *Call) error {
		for i, piece := range pieces {
			if i > 0 {
				if err := c.pause(gap); err != nil {
					return err
				}
			}
			if err := c.write(piece); err != nil {
				return err
			}
		}
		return nil
	}}
}

// SendBytewise writes s one byte per write.
func SendBytewise(gap time.Duration, s string) Step {
	pieces := make([]string, len(s))
	for i := range len(s) {
		pieces[i] = s[i : i+1]
	}
	return SendEach(gap, pieces...)
}

// Chunks frames each event as a chunk of its own and writes it by itself.
func Chunks(events ...string) Step { return ChunksEach(0, events...) }

// ChunksEach is Chunks with a gap between the writes.
func ChunksEach(gap time.Duration, events ...string) Step {
	pieces := make([]string, len(events))
	for i, event := range events {
		pieces[i] = Chunk(event)
	}
	return SendEach(gap, pieces...)
}

// Pause is silent for d. The script ends when the peer leaves meanwhile.
func Pause(d time.Duration) Step {
	return Step{do: func(c *Call) error { return c.pause(d) }}
}

// Wait is silent until go is closed (or gives a value): how a test holds a
// replica at a point without sleeping. The script ends when the peer leaves meanwhile.
func Wait(signal <-chan struct{}) Step {
	return Step{do: func(c *Call) error { return c.wait(signal) }}
}

// Stall is silent, the connection open, until the peer leaves or the test ends.
func Stall() Step { return Wait(nil) }

// NeverRead takes the head and then nothing more: the peer's body fills the
// socket buffers. On such a connection a departure of the peer can't be seen.
func NeverRead() Step {
	step := Stall()
	step.early, step.deaf = true, true
	return step
}

// Early does the steps after the request's head, before its body is read; the
// body is read afterwards. It must be the first step of the script.
func Early(steps ...Step) Step {
	return Step{early: true, do: func(c *Call) error { return c.run(steps) }}
}

// Reset ends the connection with a TCP reset; bytes not yet delivered are lost.
func Reset() Step {
	return Step{do: func(c *Call) error { reset(c.session.conn); return errOver }}
}

// Close ends the connection in the usual way (FIN).
func Close() Step {
	return Step{do: func(*Call) error { return errOver }}
}

// Do runs f, for what no other step can do.
func Do(f func(*Call)) Step {
	return Step{do: func(c *Call) error { f(c); return nil }}
}

// Choose does what pick says for the call, whose body has been read: for answers
// that depend on the request.
func Choose(pick func(*Call) Script) Step {
	return Step{do: func(c *Call) error { return c.run(pick(c)) }}
}

// run does the steps in order up to the first that ends the connection.
func (c *Call) run(steps []Step) error {
	for _, step := range steps {
		if err := step.do(c); err != nil {
			return err
		}
	}
	return nil
}

func (c *Call) write(s string) error {
	_, err := c.session.conn.Write([]byte(s))
	if err != nil {
		c.leave()
	}
	return err
}

func (c *Call) pause(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-c.gone:
		return errLeft
	case <-c.session.replica.stopped:
		return errOver
	}
}

func (c *Call) wait(signal <-chan struct{}) error {
	select {
	case <-signal:
		return nil
	case <-c.gone:
		return errLeft
	case <-c.session.replica.stopped:
		return errOver
	}
}

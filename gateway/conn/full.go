package conn

import (
	"errors"
	"fmt"
	"net"
)

// ErrFull says that a connection was turned away, since Options.MaxOpen are open.
var ErrFull = errors.New("as many connections are open as may be")

// atTheDoor is how many connections are turned away with Options.Full at once.
// Each takes a goroutine and at most Options.LingerTime; more are closed unheard.
const atTheDoor = 64

// admit counts a connection in, if there is room. Its Close counts it out.
func (l *Listener) admit() bool {
	if l.open.Add(1) <= int64(l.o.MaxOpen) || l.o.MaxOpen == 0 {
		return true
	}
	l.open.Add(-1)
	return false
}

// turnAway tells a client that there is no room for it. It may have sent a
// request already, and must be able to read the answer all the same.
func (l *Listener) turnAway(nc net.Conn) {
	l.report(fmt.Errorf("accept on %s: %w, limit %d", l.ln.Addr(), ErrFull, l.o.MaxOpen))
	select {
	case l.door <- struct{}{}:
	default:
		_ = nc.Close() // nobody hears of it
		return
	}
	go func() {
		defer func() { <-l.door }()
		c := &Conn{nc: nc, o: &l.o}
		c.Linger()
		_, _ = c.Write(l.o.Full) // it is closed either way
		_ = c.Close()
	}()
}

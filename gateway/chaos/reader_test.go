package chaos

import "time"

// listener is a client's reading side: it may be slow or stop, and may
// leave after a byte.
type listener struct {
	c   *end
	w   *world
	v   *visit
	got int

	held bool // it has stopped as long as it does
}

// turn says whose answer comes next.
func (l *listener) turn(v *visit) { l.v, l.got, l.held = v, 0, false }

func (l *listener) Read(p []byte) (int, error) {
	o := l.v.o
	if o.reads > 0 {
		<-time.After(o.reads)
		p = p[:min(len(p), 700)]
	}
	if o.holds > 0 && l.got >= o.holdsAt && !l.held {
		l.held = true
		<-time.After(o.holds)
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

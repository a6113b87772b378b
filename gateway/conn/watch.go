package conn

import "sync"

// watch is who wants to know that the client has left.
//
// Its mutex is held while gone runs, against the custom: that is what makes it
// certain that nothing fires after Unwatch has returned. A callback that came
// late would cancel the next request of a reused connection.
type watch struct {
	mu   sync.Mutex // guards the rest
	left bool       // for good: no byte will ever come again
	gone func()     // nil: nobody watches, or it has been told
}

// Watch calls gone once when the client leaves (the package says what that is),
// on a goroutine that watches all connections, or before Watch returns if the
// client had already left. After Unwatch or Close has returned it is not called
// any more. A second Watch replaces the first.
//
// gone must not block, as others wait behind it, and must not call this Conn's
// Watch, Unwatch or Close. Don't hold a lock that gone takes while calling these.
func (c *Conn) Watch(gone func()) {
	if c.watch.arm(gone) && c.back != nil {
		c.back.start()
	}
}

// Unwatch ends what Watch began. When it returns, gone isn't running and won't
// run again. Without a Watch it does nothing.
func (c *Conn) Unwatch() {
	c.watch.arm(nil)
	if c.back != nil {
		c.back.stop()
	}
}

// depart records that the client has left and tells who watches.
func (c *Conn) depart() {
	w := &c.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = true
	w.fire()
}

// arm sets who is told, and reports whether that one still waits to be.
func (w *watch) arm(gone func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = gone
	if w.left {
		w.fire()
	}
	return w.gone != nil
}

// fire tells who watches, once. The caller holds the mutex.
func (w *watch) fire() {
	gone := w.gone
	w.gone = nil
	if gone != nil {
		gone()
	}
}

func (w *watch) armed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gone != nil
}

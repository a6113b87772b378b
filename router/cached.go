package router

// cached is a value that is asked for many times until what it was found from
// changes. The zero value knows nothing.
type cached[T any] struct {
	value T
	known bool
}

// keep remembers the value.
func (c *cached[T]) keep(v T) { c.value, c.known = v, true }

// drop forgets it: who changes what it depends on calls this.
func (c *cached[T]) drop() { *c = cached[T]{} }

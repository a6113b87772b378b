package router

import (
	"fmt"
	"strings"
	"time"
)

// Explain says in one line why the request went where it went. Texts are built
// only here, so that granting costs nothing for them.
func (g Grant) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "class %s by %s: %d tokens in, %d out", g.Class, g.Why, g.TokensIn, g.TokensOut)
	if g.Why == ByRatio {
		fmt.Fprintf(&b, ", %s w=%g", g.compare(), g.W)
	}
	fmt.Fprintf(&b, "; pool %s, choice %d of %d", g.Pool, g.Choice+1, g.Choices)
	if g.Choice > 0 {
		b.WriteString(" (those before it had no room)")
	}
	fmt.Fprintf(&b, "; replica %s, least work: %d tokens", g.Replica, g.Work)
	if g.Waited > 0 {
		fmt.Fprintf(&b, "; waited %s", g.Waited.Round(time.Millisecond))
	}
	if g.Retried {
		b.WriteString("; second attempt")
	}
	return b.String()
}

// compare says which side of w the ratio of a grant fell on.
func (g Grant) compare() string {
	if g.Class == Prefill {
		return "in/out above"
	}
	return "in/out not above"
}

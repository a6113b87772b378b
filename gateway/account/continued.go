package account

// Continuation is what became of a streamed answer that broke half-way and that
// its route would have another replica go on with (routes.NAME.CLASS.on_break).
type Continuation uint8

// The continuations. How the answer ended after GoneOn, its outcome says.
const (
	GoneOn     Continuation = iota // another replica goes on with it
	NotPlain                       // its request or its text leaves doubt
	NobodyElse                     // no other replica of its model, no room in time, or the retry budget is used up
	AlsoFailed                     // the other replica failed before it had said anything

	continuations // how many there are
)

var continuationNames = [continuations]string{
	GoneOn: "continued", NotPlain: "not_plain", NobodyElse: "refused", AlsoFailed: "failed",
}

// String is the continuation's metric label.
func (c Continuation) String() string { return continuationNames[c] }

// Continued counts what became of a broken answer.
func (a *Account) Continued(c Continuation) {
	a.metrics.continued.WithLabelValues(c.String()).Inc()
}

// Package replica talks to one replica: it keeps the connections, sends one
// attempt of a request, and judges what comes back.
//
// It is an HTTP/1.1 client of its own because the ready-made ones can't tell
// the gateway what it must know before it may try again or call an answer
// complete: whether the connection was a reused one, whether a single byte of
// the answer had come, and whether the body ended or was cut.
//
// # One attempt
//
// A Client stands for one replica. A Call is one attempt at it:
//
//	var call replica.Call              // Cancel it from anywhere, at any time
//	answer, err := client.Do(&call, &replica.Request{…, FirstByte: deadline})
//	if err != nil { … replica.Outcome(err, false) … }
//	defer answer.Close()
//	outcome := replica.Judge(answer.Status, false)
//	n, err := answer.Read(buf)         // io.EOF only at a proper end
//
// Do connects (at most Options.ConnectTimeout), sends the request, and returns
// when the head of the answer is there (at most Request.FirstByte). vLLM sends
// that head before it has done any work, so a head says nothing about health:
// the caller sets SetReadDeadline for the first event and SetReadTimeout for
// those after it. One goroutine uses an Answer; only Cancel may come from
// another.
//
// # Connections
//
// Idle connections form a stack, so that the youngest is used first and the
// rest grow old and go. uvicorn closes a connection that was idle for 5 s
// without a word; ours go before that (Options.IdleTimeout, 4 s). Before reuse
// the socket is looked at: one that has ended, was reset, or holds bytes that
// nobody asked for (the answer to somebody else's request) is dropped.
//
// What slips through that look is a connection that dies while the request is
// on its way to it. Such a request is sent once more, on a fresh connection,
// when all of this holds: the connection was a reused one; not a byte of the
// answer came; it ended or was reset, it didn't time out and wasn't cancelled;
// and that showed within a second. A dead connection shows within one round
// trip; a replica that took a request, worked on it and then died takes longer,
// and its request is not run twice.
//
// # Bodies
//
// A large request is written while the answer is awaited, so that a replica's
// early "too large" is returned, and not lost in the reset that follows it.
//
// Answers are read strictly (RFC 9112): whatever two parsers could understand
// in two ways is refused as ErrMalformed and its connection dropped. Each cut
// body ends in io.ErrUnexpectedEOF. A body without any framing ends with its
// connection and can't prove that it is whole; Framed tells.
//
// # Ownership
//
// Do takes a connection; Answer.Close gives it back to the stack if the body
// ended properly and nothing is left over, and else closes it. A Call that is
// over can't touch a connection any more, whoever cancels it.
package replica

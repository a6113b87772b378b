// Package gateway is everything that happens on the network: it is told one
// request, top to bottom, in Handler.Serve.
//
// Hop by hop: the headers are judged before the body is read (who asks, how
// large); the body is read within a budget and its facts are inspected once; the
// Gate, a lock round the pure router, gives a class, a replica and its slots in
// one step, or a place in the queue; an attempt sends the request to the replica
// and waits for its first event; the relay copies the answer to the client, owns
// the lease, and gives it back with an outcome when the answer's body has ended (or
// for another lease, where a broken answer can be mended: mend.go);
// one place counts, logs and learns from that outcome.
//
// # Ownership
//
// An exchange owns everything of one request: its body, its lease, its call to
// the replica, its line in the ledger. It lives on the goroutine of the client's
// connection from the first header to the last byte. Exchange.end is the only
// way out, and runs once.
//
// # Who may speak to whom
//
// fasthttp is imported here and nowhere below. The packages underneath are the
// wire format (openai), the client's connection (conn), one replica (replica),
// the counting (account) and the picture of the replicas (fleet); none of them
// knows of the gateway.
package gateway

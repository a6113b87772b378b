// Package conn is a client's connection as a gateway needs it: one that says
// when the client has left, cuts clients that stop reading, and lets a client
// read the answer to a request that was refused half-way.
//
// # Who left
//
// An answer takes minutes and a TPU's time is dear, so a client that leaves
// must be noticed at once and in every phase: queued, waiting, streaming. An
// HTTP/1.1 server finds out by itself only when it reads or writes next. Reading
// ahead is the usual way out, but it costs a goroutine for each request, and it
// is blind as soon as a byte of a pipelined request has arrived.
//
// Linux knows better. Each connection is added once, when it is accepted, to
// one epoll instance of the listener, for EPOLLRDHUP alone and edge-triggered:
// data never wakes it, a FIN or a reset does, in about 0.1 ms. [Conn.Watch] and
// [Conn.Unwatch] are then two assignments under a lock, free of system calls
// and goroutines:
//
//	c := conn.Of(ctx.Conn())
//	c.Watch(exchange.Cancel)
//	defer c.Unwatch()
//
// What counts as leaving:
//
//   - a FIN, also of one direction only: a client that shuts down its sending
//     side and waits is taken for gone, as nginx and net/http take it;
//   - a reset, and a peer that no longer answers TCP keep-alive probes.
//
// What doesn't: bytes, whether of this request or of a pipelined next one, and
// a TLS close_notify that no FIN follows. All of this lies below TLS, so it works
// the same with and without it: tls.NewListener goes on top of [Listener].
//
// Elsewhere than on Linux, and for connections that have no descriptor (net.Pipe
// in a test under testing/synctest), a read in the background stands in. It
// keeps what it reads for the next Read, and sees a departure only while less
// than 4 KiB of pipelined bytes wait.
//
// # Write stalls
//
// There is no limit on how long an answer takes, only on how long a client may
// take no byte of it: [Options.WriteStall]. The limit begins anew whenever the
// kernel accepts some bytes, so one large body to a slow but steady client isn't
// cut either. A stalled client gets a reset, not a FIN: what is still in the
// kernel's buffers is freed at once, and the client can't take the cut answer
// for a complete one. TCP_NOTSENT_LOWAT keeps those buffers small, so that
// back-pressure reaches the replica after 128 KiB and not after megabytes.
//
// # Lingering close
//
// A server that answers 413 and closes while the body still arrives makes its
// kernel send a reset, which fails the client's send before it has read the
// answer. After [Conn.Linger], Close therefore ends only its own direction,
// reads and drops what still comes, up to [Options.LingerBytes] and
// [Options.LingerTime], and closes then.
//
// # Accept
//
// [Listener.Accept] doesn't return errors that pass (no file descriptors left, a
// connection aborted before it was accepted): a server takes any error of its
// listener for the end. They are reported and tried again. Beyond
// [Options.MaxOpen] connections a client is turned away with an answer that it
// can read, and without a goroutine that anybody else waits for.
package conn

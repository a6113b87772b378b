// Package gatewaytest is the test bench of a serving gateway: scripted replicas
// and raw clients that can do anything byte by byte, and that record everything.
//
// Both ends are written on bare TCP and share no HTTP library with the gateway,
// so that a framing bug in one can't hide behind the same bug in the other.
//
// A [Replica] runs a [Script] for each request. A script is a list of steps:
// [Send] and its kin write bytes exactly as given, so a script can split an
// event anywhere, lie about its length or stop in the middle; [Pause], [Wait] and
// [Stall] are silent; [Close] and [Reset] end the connection. The builders
// ([Head], [JSON], [Chunk], [Data], [Content], …) only make strings. A replica
// that truncates a stream behind correct framing reads
//
//	gatewaytest.NewReplica(t,
//		gatewaytest.Send(gatewaytest.SSEHead),
//		gatewaytest.Chunks(gatewaytest.Role, gatewaytest.Content("Hello")),
//		gatewaytest.Send(gatewaytest.FinalChunk))
//
// and one that stops dead with the framing open ends in [Reset] instead. Every
// request becomes a [Call]: its bytes, the hash of its body, the connection it
// came on, when it arrived, and a channel that closes when the peer leaves.
//
// A [Client] sends any bytes and reads the answer as a whole, by chunk or by
// event, with times. [Post] and [Get] do it all at once; the [Response] says
// whether a client could tell that the answer was complete ([Ending]).
//
// Nothing here sleeps. A test waits for what it needs ([Replica.Call],
// [Replica.WaitRunning], [Call.WaitGone]) and holds a replica with [Wait]; what
// doesn't come within [Patience] fails the test. [InMemory] replicas use no
// socket, for tests in a testing/synctest bubble. Everything stops at the end of
// the test; [ZeroCheck] shows that nothing was left behind.
package gatewaytest

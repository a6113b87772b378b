// Package field holds the faults that users of gateways meet in the field, each
// as a named test: streams that the network cuts and glues, half an answer told
// as a whole one, slots that leak until a restart, replicas that look alive and
// serve nothing, retries that multiply the work, fields that vanish on the way.
//
// A test is named by its fault and shows the whole kind, not the one input that
// somebody met: what the client gets, what the replica sees, what the log says
// and what the metrics count. docs/reliability.md lists them in one table.
//
// All of it is on real sockets. The gateway runs as a process of its own, so
// that its goroutines, descriptors and memory are nobody else's and tests can
// run side by side; the replicas and clients are those of gatewaytest, which
// share no HTTP library with it. The usual bench is two pools of two replicas
// (bench_test.go), with caps and limits small enough to be reached; times
// are scaled down. Nearly every test ends with rig.zero: nothing is held, nothing
// waits, the ledger balances, goroutines and descriptors are back where they
// were, and each replica can again be filled to its cap.
package field

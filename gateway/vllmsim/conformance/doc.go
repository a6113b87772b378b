// Package conformance is one suite of black-box checks for any server that
// speaks vLLM's HTTP: the simulated replica and the real vLLM alike. What a check
// expects, the gateway relies on; so a release of vLLM that fails one is to be
// looked at before the fleet runs it.
//
// Without flags the suite starts a simulated replica of each release and checks those:
//
//	go test ./gateway/vllmsim/conformance
//
// With an address it checks the server there, whose --max-num-seqs it must know:
//
//	go test ./gateway/vllmsim/conformance -address 127.0.0.1:8000 -model tiny -sequences 16
//
// Each check names the fact that it stands for. Bodies are compared as they are
// written, member by member; «» in a pattern marks what may vary. Members that
// only some releases write are optional there. Where two behaviours are both
// vLLM's (a seed of the client's own: TPU refuses it, others take it) a check
// accepts both and says so; docs/conformance.md lists them.
//
// The suite wants the server for itself: it reads gauges that others would move.
package conformance

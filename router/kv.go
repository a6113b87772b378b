package router

import "time"

// kv follows how many tokens a replica's KV cache holds. An engine whose cache is
// full preempts: it throws away what it has computed of the newest sequence, and
// later computes it again.
type kv struct {
	held     float64 // tokens that our leases will probably need in the end
	capacity mean    // tokens, as the replica's own metrics imply
}

const (
	kvTold   = 0.1              // the least usage that tells anything about the capacity
	kvFill   = 0.95             // the usage up to which requests are foreseen to fit
	kvHalf   = kvFill / 2       // a cache used less than this overflows by no one request, whatever its capacity is thought to be
	kvFresh  = 10 * time.Second // how old metrics may be; older ones forbid nothing
	kvMemory = 20               // readings that the capacity stands on
)

// needs is the tokens of KV that a claim will probably take up.
func (c *claim) needs() float64 { return float64(c.TokensIn + c.tokensOut) }

// read takes in a reading.
func (k *kv) read(load Load) {
	if load.KVUsage >= kvTold && k.held > 0 {
		k.capacity.weight = min(k.capacity.weight, kvMemory-1)
		k.capacity.add(k.held / load.KVUsage)
	}
}

// kvFull tells whether a claim would probably overflow the replica's KV cache. An
// idle replica is never full.
func (rep *replica) kvFull(c *claim, now time.Time) bool {
	k := &rep.kv
	if k.capacity.weight == 0 || rep.held() == 0 || rep.load.KVUsage < kvHalf || now.Sub(rep.load.At) > kvFresh {
		return false
	}
	return k.held+c.needs() > kvFill*k.capacity.value
}

package router

import "math"

// Prefixes names how a request's prompt begins, so that replicas can be asked
// who has computed that before. The zero value begins like no other.
type Prefixes struct {
	// Hashes has a hash of the first 1, 2, 4, … units of the prompt; 0 where the
	// prompt is shorter. Prompts that begin alike have the same.
	Hashes [10]uint64
	Unit   float64 // prompt tokens of a unit

	// Turn is a hash of the whole prompt, where it is a conversation, and Before of
	// the prompt of the turn that this one continues; 0: none. No other request has
	// the same, however much of its beginning it shares.
	Turn, Before uint64
}

// tokens is how many prompt tokens the first of the hashes stand for.
func (p *Prefixes) tokens(hashes int) float64 {
	if hashes == 0 {
		return 0
	}
	return p.Unit * float64(uint(1)<<(hashes-1))
}

// memory is the beginnings that a replica has computed lately, and so probably
// has in its prefix cache. A real cache forgets by its own rules, so this one is
// small: what is believed wrongly costs a prompt that is longer than foreseen.
type memory struct{ young, old map[uint64]struct{} }

// memoryLimit is how many beginnings make a generation; two are remembered.
const memoryLimit = 2048

// known is how many prompt tokens of a beginning the replica has seen.
func (m *memory) known(p *Prefixes) float64 {
	if p.Unit == 0 {
		return 0
	}
	for i := len(p.Hashes); i > 0; i-- {
		if h := p.Hashes[i-1]; h != 0 && m.has(h) {
			return p.tokens(i)
		}
	}
	return 0
}

func (m *memory) has(h uint64) bool {
	_, young := m.young[h]
	_, old := m.old[h]
	return young || old
}

// fresh is the tokens of a claim's prompt that the replica would have to compute:
// at least one. They are whole, so that sums of them come back to 0.
func (rep *replica) fresh(c *claim) float64 {
	fresh := float64(c.TokensIn) - rep.memory.known(&c.Prefixes)
	return max(math.Round(fresh), min(float64(c.TokensIn), 1))
}

// learn remembers a beginning that the replica has now computed.
func (m *memory) learn(p *Prefixes) {
	if p.Unit == 0 {
		return
	}
	if m.young == nil || len(m.young) >= memoryLimit {
		m.young, m.old = map[uint64]struct{}{}, m.young
	}
	for _, h := range p.Hashes {
		if h != 0 {
			m.young[h] = struct{}{}
		}
	}
}

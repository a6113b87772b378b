package lab

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"sluice/router"
	"sluice/router/tpu"
)

// request is one arrival and what became of it.
type request struct {
	kind    *Kind
	class   router.Class // true
	arrival time.Duration
	prompt  int
	answer  int     // nobody but the replica knows it
	prefix  uint64  // what it begins with; 0: shared with nobody
	shared  int     // tokens of it that others begin with, too
	turn    int     // of its conversation, from 1; 0: it is none
	noise   float64 // estimated prompt tokens ÷ real ones

	seq     tpu.Sequence
	replica int // where it is, or was; -1: nowhere
	sent    time.Duration
	first   time.Duration // first token
	ended   time.Duration
	fate    fate
	own     any // the policy's
}

// fate is how a request ended.
type fate uint8

const (
	open    fate = iota
	served       // whole
	refused      // by the policy
	lost         // with its replica
)

// arrivals draws the requests of a workload at so many per second on average, in
// order of arrival. The same seed gives the same, whoever serves them.
func arrivals(w *Workload, rate float64, lasts time.Duration, seed uint64) []*request {
	if !(rate > 0) {
		return nil // its capacity isn't known: nothing would ever arrive
	}
	d := &draws{workload: w, rate: rate, lasts: lasts, random: rand.New(rand.NewPCG(seed, 0x1ab)), talks: map[*Kind][]*talk{}}
	var all []*request
	for at := d.next(0); at < lasts; at = d.next(at) {
		all = append(all, d.request(at))
	}
	for i := range w.Kinds {
		if k := &w.Kinds[i]; k.Rate > 0 {
			all = append(all, steady(k, lasts, seed+uint64(i)<<32)...)
		}
	}
	slices.SortStableFunc(all, func(a, b *request) int { return cmp.Compare(a.arrival, b.arrival) })
	return all
}

// steady draws the requests of one kind at its own rate, so that the others are
// the same with it and without.
func steady(k *Kind, lasts time.Duration, seed uint64) []*request {
	alone := *k
	alone.Share, alone.Rate = 1, 0
	return arrivals(&Workload{Kinds: []Kind{alone}}, k.Rate, lasts, seed)
}

// draws is the state of drawing.
type draws struct {
	workload *Workload
	rate     float64 // per second
	lasts    time.Duration
	random   *rand.Rand
	high     bool              // the burst state
	until    time.Duration     // it lasts
	talks    map[*Kind][]*talk // that come back
}

// talk is a conversation that will come back.
type talk struct {
	prefix uint64
	tokens int // of the next prompt's beginning
	turns  int // left
	turn   int // the last
}

// next is the arrival after at: a Poisson process, whose rate bursts switch.
func (d *draws) next(at time.Duration) time.Duration {
	for {
		rate, until := d.now(at)
		wait := time.Duration(d.random.ExpFloat64() / rate * float64(time.Second))
		if at+wait < until {
			return at + wait
		}
		at = until // memoryless: what is left is drawn anew at the other rate
	}
}

// now is the rate at a time, and until when it holds.
func (d *draws) now(at time.Duration) (rate float64, until time.Duration) {
	b := d.workload.Bursts
	if b.Ratio == 0 {
		return d.rate, math.MaxInt64
	}
	for d.until <= at {
		d.high = !d.high
		d.until += time.Duration(d.random.ExpFloat64()*float64(b.Each)) + 1
	}
	low := 2 * d.rate / (1 + b.Ratio)
	if d.high {
		return low * b.Ratio, d.until
	}
	return low, d.until
}

// request draws one arrival.
func (d *draws) request(at time.Duration) *request {
	late := at > d.lasts/2
	k := d.kind(late)
	r := &request{kind: k, class: k.class(), arrival: at, replica: -1, noise: 1}
	r.prompt = k.Prompt.draw(d.random)
	r.answer = k.Answer.draw(d.random)
	if shifted := k.Shifted.draw(d.random); late && k.Shifted.Median > 0 {
		r.answer = shifted
	}
	if k.Bound > 0 {
		r.answer = min(r.answer, k.Bound)
	}
	d.begin(r)
	return r
}

// kind draws which kind arrives.
func (d *draws) kind(late bool) *Kind {
	share := func(k *Kind) float64 {
		if late {
			return k.later()
		}
		return k.Share
	}
	total := 0.0
	for i := range d.workload.Kinds {
		total += share(&d.workload.Kinds[i])
	}
	x := d.random.Float64() * total
	for i := range d.workload.Kinds {
		k := &d.workload.Kinds[i]
		if x -= share(k); x < 0 {
			return k
		}
	}
	return &d.workload.Kinds[len(d.workload.Kinds)-1]
}

// begin says with what the prompt begins: a group's beginning, or the
// conversation so far.
func (d *draws) begin(r *request) {
	p := r.kind.Prefix
	switch {
	case p.Turns > 1:
		d.turn(r)
	case p.Groups > 0:
		r.prefix = tpu.Chain(1, d.random.Uint64N(uint64(p.Groups))+1)
		r.shared = p.Tokens
		r.prompt += p.Tokens
	default:
		r.prefix = d.random.Uint64()
	}
}

// longestTalk is the tokens after which a conversation doesn't come back: its next
// prompt and answer must still fit into the fleet's context.
const longestTalk = 24000

// turn continues a conversation of the kind, or begins one.
func (d *draws) turn(r *request) {
	var mine *talk
	talks := d.talks[r.kind]
	if n := len(talks); n > 0 && d.random.Float64() < 1-1/float64(r.kind.Prefix.Turns) {
		i := d.random.IntN(n)
		mine = talks[i]
		talks[i] = talks[n-1]
		talks = talks[:n-1]
	} else {
		mine = &talk{prefix: d.random.Uint64() | 1, tokens: r.kind.Prefix.Tokens, turns: r.kind.Prefix.Turns}
	}
	mine.turn++
	r.prefix, r.shared, r.turn = mine.prefix, mine.tokens, mine.turn
	r.prompt += mine.tokens
	mine.tokens = r.prompt + r.answer
	if mine.turns--; mine.turns > 0 && mine.tokens < longestTalk {
		talks = append(talks, mine)
	}
	d.talks[r.kind] = talks
}

// blocks names the pages of a prompt for a replica with pages of a size: those of
// the shared beginning alike for all that share it, the others its own.
func (r *request) blocks(size int) []uint64 {
	if r.shared == 0 {
		return nil
	}
	n := min(r.shared, r.prompt) / size
	blocks := make([]uint64, n)
	before := r.prefix
	for i := range blocks {
		before = tpu.Chain(before, uint64(i))
		blocks[i] = before
	}
	return blocks
}

// draw is one length.
func (l *Length) draw(r *rand.Rand) int {
	x := r.NormFloat64() // drawn in any case, so that a spread changes no other draw
	if l.Median == 0 {
		return 0
	}
	n := int(math.Round(l.Median * math.Exp(l.Spread*x)))
	most := l.Max
	if most == 0 {
		most = 100000
	}
	return min(max(n, max(l.Min, 1)), most)
}

// unit is the tokens of a router's unit of prefixes.
const unit = 256

// prefixes names the request's beginnings for the router. A conversation's next
// prompt begins with all of this one, a group's with the shared part only.
func (r *request) prefixes() router.Prefixes {
	p := router.Prefixes{Unit: unit}
	reach := r.shared
	if r.turn > 0 {
		reach = r.prompt
		p.Turn = tpu.Chain(^r.prefix, uint64(r.turn))
	}
	if r.turn > 1 {
		p.Before = tpu.Chain(^r.prefix, uint64(r.turn-1))
	}
	for i := range p.Hashes {
		if unit<<i > reach {
			break
		}
		p.Hashes[i] = tpu.Chain(r.prefix, uint64(i))
	}
	return p
}

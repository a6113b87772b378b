package router

import (
	"math"
	"time"
)

// pace is what the router has learned of how fast a replica is, from the streams
// of its answers alone.
//
// Two relations hold for a continuous-batching engine, whatever the chip. A step
// makes one token for each sequence; it takes longer the more sequences it has
// and the more prompt tokens are computed in it:
//
//	time per token = a + b × sequences + c × prompt tokens per step   (step)
//	time to the first token = d + e × prompt tokens ahead, its own included   (first)
//	time of a short answer  = first, alone + its tokens × a
//	                          + prompt tokens of others in flight ÷ a rate   (crowd)
//
// The last is Little's law. Its rate is a ratio of means, not another coefficient
// that least squares could find: a router that keeps the amount in flight steady
// hides from itself what more or less of it would do.
type pace struct {
	step  linear
	first guess
	crowd ratio

	at        time.Time // of the sums
	decoding  int       // sequences that have had their first token
	seconds   float64   // sums since the start: of sequences decoding × time
	prefilled float64   // prompt tokens computed
	pending   float64   // prompt tokens granted whose first token hasn't come
	flying    float64   // those, and the prompt tokens of short answers that haven't ended
	inflow    rate      // prompt tokens granted per second
	alive     time.Time // when it last gave a first token or an end, or began to owe one
}

// The priors, before anything was measured, in seconds: an engine that is somewhat
// fast, so that the first requests are let through. And the tokens and sequences that
// a sample typically has: how much it says beside the prior.
const (
	priorToken    = 0.025  // a token of one sequence alone
	priorSequence = 0.0001 // more for each sequence beside it
	priorPrompt   = 15e-6  // a prompt token
	priorFirst    = 0.05   // a first token, its prompt aside

	typicalDecoding = 50    // sequences
	typicalBeside   = 200   // prompt tokens per step
	typicalPrompt   = 4000  // tokens
	typicalFlying   = 20000 // prompt tokens in flight
)

// newPace knows the priors alone, each worth a few samples.
func newPace() pace {
	return pace{
		step:  newLinear(causes{priorToken, priorSequence, priorPrompt}, causes{1, typicalDecoding, typicalBeside}, 2, 150),
		first: guess{linear: newLinear(causes{priorFirst, priorPrompt}, causes{1, typicalPrompt}, 2, 60)},
		crowd: newRatio(priorPrompt, typicalFlying, 4),
	}
}

// inflowMemory is the seconds over which the inflow of prompts, and any other rate,
// is averaged: what happened within them is recent. An answer sees the mean over its
// life, and lives longer than that.
const inflowMemory = 10.0

// mark is the sums at a moment, to take differences from.
type mark struct {
	at                 time.Time
	seconds, prefilled float64
	presumed           bool // nobody saw it
}

// advance brings the sums up to now.
func (p *pace) advance(now time.Time) {
	if dt := now.Sub(p.at).Seconds(); dt > 0 && !p.at.IsZero() {
		p.seconds += dt * float64(p.decoding)
	}
	p.at = now
}

func (p *pace) mark() mark { return mark{at: p.at, seconds: p.seconds, prefilled: p.prefilled} }

// began books a grant.
func (p *pace) began(now time.Time, tokens float64) {
	p.advance(now)
	if p.pending <= 0 {
		p.alive = now
	}
	p.pending += tokens
	p.flying += tokens
	p.inflow.add(now, tokens)
}

// computed books a first token: of a prompt that had so many tokens ahead of it,
// its own included, when it was granted. Took is the time since; 0: not known.
func (p *pace) computed(now time.Time, tokens float64, sequences int, ahead float64, took time.Duration) {
	p.advance(now)
	p.pending -= tokens
	p.prefilled += tokens
	p.decoding += sequences
	if took > 0 {
		p.first.learn(causes{1, ahead}, took.Seconds())
	}
}

// ended books the end of sequences that were decoding.
func (p *pace) ended(now time.Time, sequences int) {
	p.advance(now)
	p.decoding -= sequences
}

// learn takes in an answer of so many tokens (of one sequence) since its first.
func (p *pace) learn(now time.Time, since mark, tokens int) {
	p.advance(now)
	steps, took := float64(tokens-1), now.Sub(since.at).Seconds()
	if steps < 1 || took <= 0 {
		return
	}
	x := causes{1, (p.seconds - since.seconds) / took, (p.prefilled - since.prefilled) / steps}
	p.step.add(x, took/steps, min(steps/100, 10)) // a long answer is a mean of more steps
}

// mostBusy is the share of a replica's time that prompts may take, above which
// answers are foreseen to get nowhere.
const mostBusy = 0.95

// tpot predicts the seconds per token while so many sequences decode and prompt
// tokens come at a rate per second.
func (p *pace) tpot(sequences int, inflow float64) float64 {
	busy := p.step.k[2] * inflow // share of the time that prompts take
	if busy > mostBusy {
		return math.Inf(1)
	}
	return (p.step.k[0] + p.step.k[1]*float64(sequences)) / (1 - busy)
}

// ttft predicts the seconds to the first token of a prompt sent now.
func (p *pace) ttft(tokens float64) float64 { return p.first.surely(causes{1, p.pending + tokens}) }

// e2e predicts the seconds to the end of a short answer sent now.
func (p *pace) e2e(tokens, answer float64) float64 {
	return p.idleE2E(tokens, answer) + p.flying*p.crowd.value()
}

// idleE2E is e2e on an idle replica.
func (p *pace) idleE2E(tokens, answer float64) float64 {
	return p.idleTTFT(tokens) + max(answer-1, 0)*p.step.k[0]
}

// answered takes in the time of a whole short answer, beside so many prompt tokens
// of others in flight when it was granted.
func (p *pace) answered(tokens, answer, others, took float64) {
	p.crowd.add(max(took-p.idleE2E(tokens, answer), 0), others)
}

// idleTTFT is ttft on an idle replica.
func (p *pace) idleTTFT(tokens float64) float64 { return p.first.of(causes{1, tokens}) }

// ratio is how much there is of one quantity for each of another. Where there has
// hardly been any of the other, that is noise ÷ nothing: so a little of the prior, a
// tenth of a typical sample, always stays in it.
type ratio struct {
	per, of     mean
	prior, stay float64
}

// newRatio starts at a prior that is worth weight samples of a typical size.
func newRatio(prior, typical, weight float64) ratio {
	return ratio{per: mean{value: prior * typical, weight: weight}, of: mean{value: typical, weight: weight}, prior: prior, stay: typical / 10}
}

const ratioMemory = 40 // samples

// add takes in a sample. One with nothing of the other quantity tells nothing.
func (r *ratio) add(per, of float64) {
	if of <= 0 {
		return
	}
	r.per.weight, r.of.weight = min(r.per.weight, ratioMemory-1), min(r.of.weight, ratioMemory-1)
	r.per.add(per)
	r.of.add(of)
}

func (r *ratio) value() float64 {
	return (r.per.value*r.per.weight + r.prior*r.stay) / (r.of.value*r.of.weight + r.stay)
}

// guess is a linear that knows how far off it is.
type guess struct {
	linear
	miss mean // seconds, of its predictions
}

const (
	missMemory = 30  // samples
	missesMore = 1.0 // mean misses that surely adds
)

func (g *guess) learn(x causes, y float64) {
	g.miss.weight = min(g.miss.weight, missMemory-1)
	g.miss.add(math.Abs(y - g.of(x)))
	g.add(x, y, 1)
}

// surely is of, drawn up by what it often misses: seldom too little.
func (g *guess) surely(x causes) float64 { return g.of(x) + missesMore*g.miss.value }

// rate is an amount per second, remembered for inflowMemory.
type rate struct {
	value float64
	at    time.Time
}

func (r *rate) add(now time.Time, amount float64) {
	r.value = r.now(now) + amount/inflowMemory
	r.at = now
}

func (r *rate) now(now time.Time) float64 {
	if r.at.IsZero() {
		return 0
	}
	return r.value * math.Exp(-now.Sub(r.at).Seconds()/inflowMemory)
}

package router

import (
	"math"
	"math/bits"
	"time"
)

// lengths learns how long answers are, per sequence, and predicts it as a
// distribution: never as a mean or a ratio, because the same prompt may well be
// answered in 8 tokens or in 900.
//
// It keeps a histogram for each of four levels: a tenant's requests to a route
// of one size of prompt and of bound; those of all tenants; the route; all
// routes. Each starts from what its parent knows, worth a few samples, the first
// from priorLengths; so a new kind of request is predicted by its nearest kin,
// and soon by itself.
//
// Old samples fade with time and with newer samples, and at once when lengths
// have visibly changed (drift).
//
// What a level knows, its curve, is brought up to date by the first sample of a
// later instant. So the order of samples at one instant doesn't matter. Only
// learn changes anything: predict and remaining may be asked at any time, and
// the same calls give the same answers.
type lengths struct {
	prior *curve
	root  *lengthLevel
	known map[levelKey]*lengthLevel // all but the root
	limit int                       // of known
	ring  lengthLevel               // before and after: from the most to the least recently learned
}

const (
	lengthLimit    = 4096             // levels kept, of about 4 KiB each
	lengthHalfLife = 15 * time.Minute // in which a sample loses half its weight
	lengthMemory   = 2000             // samples that a level stands on at most
	lengthTrust    = 10               // samples that a parent is worth
	lengthPrior    = 3                // samples that priorLengths is worth
	lengthAfresh   = 8                // samples that all before a drift are worth
	lengthBatch    = 32               // the samples for each that waits to be taken into a curve
)

// lengthKey says whose answers are alike.
type lengthKey struct {
	tenant, route string
	bound, prompt uint8 // sizes by powers of two; bound 0: none
}

// lengthKeyOf is the key of requests with a hard bound on each sequence (-1:
// none) and a prompt of so many tokens.
func lengthKeyOf(tenant, route string, bound, prompt int) lengthKey {
	key := lengthKey{tenant: tenant, route: route, prompt: uint8(bits.Len(uint(max(prompt, 0))))}
	if bound >= 0 {
		key.bound = 1 + uint8(bits.Len(uint(max(bound-1, 0))))
	}
	return key
}

// levelKey names a level; what it holds for all of is empty.
type levelKey struct {
	lengthKey
	depth uint8 // 1: a route; 2: its prompt and bound; 3: a tenant's
}

func (k *lengthKey) at(depth uint8) levelKey {
	switch depth {
	case 1:
		return levelKey{lengthKey{route: k.route}, 1}
	case 2:
		return levelKey{lengthKey{route: k.route, bound: k.bound, prompt: k.prompt}, 2}
	}
	return levelKey{*k, 3}
}

// lengthLevel is what is known of the requests of one key. A newer sample has a
// larger weight, instead of the older ones smaller ones: unit is that of now.
type lengthLevel struct {
	key           levelKey
	parent        *lengthLevel // nil: the root
	before, after *lengthLevel // in lengths.ring

	seen  histogram
	unit  float64
	last  time.Time // learned
	drift drift

	curve curve                   // of all samples up to an instant before
	below [lengthBins + 1]float64 // of the curve, the share below each bin
	fresh float64                 // samples since
}

// forecast is how long one sequence will be.
type forecast struct {
	P50, P90 int     // tokens, at most the bound
	Mean     float64 // tokens, of answers that the bound has cut where it does
	Samples  float64 // that it stands on, of the nearest level known
	Depth    uint8   // of that level: 3 tenant, prompt and bound; 2 prompt and bound; 1 route; 0 all
}

func newLengths() *lengths {
	l := &lengths{prior: priorLengths(), known: map[levelKey]*lengthLevel{}, limit: lengthLimit}
	l.root = &lengthLevel{unit: 1, curve: *l.prior}
	l.ring.before, l.ring.after = &l.ring, &l.ring
	return l
}

// learn takes in the tokens of one answer. whole is false where it was cut, by
// its bound, its client or a failure: then it is known only to be longer.
func (l *lengths) learn(now time.Time, key lengthKey, tokens int, whole bool) {
	if tokens < 1 && !whole {
		return
	}
	tokens = min(max(tokens, 1), longestLength)
	leaf := l.grow(&key)
	l.touch(leaf)
	l.teach(leaf, now, tokens, whole)
}

// predict is how long a sequence will be that has a hard bound (-1: none).
func (l *lengths) predict(now time.Time, key lengthKey, bound int) forecast {
	return l.remaining(now, key, bound, 0)
}

// remaining is how many tokens are still to come of a sequence that has emitted
// some: the longer it has run already, the more.
func (l *lengths) remaining(now time.Time, key lengthKey, bound, emitted int) forecast {
	n := l.find(&key)
	faded := n.faded(now)
	f := forecast{Samples: n.seen.weight / (n.unit * faded), Depth: n.key.depth}
	if bound >= 0 && bound <= emitted {
		return f
	}
	if bound < 0 || bound > longestLength {
		bound = longestLength
	}
	emitted = min(max(emitted, 0), longestLength-1)
	if n.fresh <= 2*f.Samples/lengthBatch && faded < 1+1.0/lengthBatch {
		f.fill(&n.curve, bound, emitted)
		return f
	}
	var c curve
	n.settle(now, l.prior, &c)
	f.fill(&c, bound, emitted)
	return f
}

// fill in what a curve tells of a sequence that has emitted some tokens.
func (f *forecast) fill(c *curve, bound, emitted int) {
	t := c.after(emitted)
	if t.mass <= 0 { // longer than anything thought possible: as much again
		f.P50 = min(emitted, bound-emitted)
		f.P90, f.Mean = f.P50, float64(f.P50)
		return
	}
	f.P50 = min(t.quantile(0.5), bound) - emitted
	f.P90 = min(t.quantile(0.9), bound) - emitted
	f.Mean = t.mean(bound) - float64(emitted)
}

// find is the nearest level that is known of a key.
func (l *lengths) find(key *lengthKey) *lengthLevel {
	for depth := uint8(3); depth > 0; depth-- {
		if n := l.known[key.at(depth)]; n != nil {
			return n
		}
	}
	return l.root
}

// grow is the level of a key itself, made where it is not known yet, with those
// above it.
func (l *lengths) grow(key *lengthKey) *lengthLevel {
	n := l.find(key)
	for n.key.depth < 3 {
		l.touch(n) // before room is made for its child
		child := l.spare()
		child.key, child.parent, child.unit = key.at(n.key.depth+1), n, 1
		l.known[child.key] = child
		n = child
	}
	return n
}

// spare is an empty level: a new one, or the least recently learned. That has
// no children: whatever they learn it has learned too, and is touched after them.
func (l *lengths) spare() *lengthLevel {
	if len(l.known) < l.limit {
		return &lengthLevel{}
	}
	n := l.ring.before
	n.unlink()
	delete(l.known, n.key)
	*n = lengthLevel{}
	return n
}

// touch makes a level and those above it the most recently learned, the highest
// last.
func (l *lengths) touch(n *lengthLevel) {
	for ; n != l.root; n = n.parent {
		if n.before != nil {
			n.unlink()
		}
		n.before, n.after = &l.ring, l.ring.after
		n.before.after, n.after.before = n, n
	}
}

func (n *lengthLevel) unlink() { n.before.after, n.after.before = n.after, n.before }

// teach adds a sample to a level and those above it, which go first: a level
// must be brought up to date with what its parent knew before this instant.
func (l *lengths) teach(n *lengthLevel, now time.Time, tokens int, whole bool) {
	if n.parent != nil {
		l.teach(n.parent, now, tokens, whole)
	}
	if n.last.IsZero() || now.After(n.last) {
		n.advance(now, l.prior)
	}
	n.fresh++
	if whole {
		bin := binOf(tokens)
		n.seen.add(tokens, n.unit)
		n.drift.observe(n.below[bin], n.below[bin+1])
		return
	}
	bin, part := cutAt(tokens)
	n.seen.addCut(tokens, n.unit)
	n.drift.observe(n.below[bin]+part*(n.below[bin+1]-n.below[bin]), 1)
}

// advance begins a new instant: samples fade, and the curve takes in those of
// the instants before, each while they are few, and then in batches.
func (n *lengthLevel) advance(now time.Time, prior *curve) {
	n.unit *= n.faded(now)
	weight := n.seen.weight / n.unit
	limit := float64(lengthMemory)
	if n.drift.drifted(weight) {
		limit = lengthAfresh
		n.drift = drift{}
	}
	if weight > limit {
		n.unit *= weight / limit
	}
	if n.unit > 1e100 {
		n.seen.scale(1 / n.unit)
		n.unit = 1
	}
	if n.last.IsZero() || limit < lengthMemory || n.fresh > weight/lengthBatch {
		n.refresh(now, prior)
	}
	n.last = now
}

// faded is how much more a sample of now weighs than one of the last instant.
func (n *lengthLevel) faded(now time.Time) float64 {
	if n.last.IsZero() || !now.After(n.last) {
		return 1
	}
	return math.Exp2(min(now.Sub(n.last).Seconds()/lengthHalfLife.Seconds(), 300))
}

// settle fills in the distribution that a level knows now.
func (n *lengthLevel) settle(now time.Time, prior *curve, c *curve) {
	k := n.unit * n.faded(now)
	if n.parent == nil {
		n.seen.blend(c, lengthPrior*k, prior)
		return
	}
	n.seen.blend(c, lengthTrust*k, &n.parent.curve)
}

// refresh brings the curve up to date.
func (n *lengthLevel) refresh(now time.Time, prior *curve) {
	c := &n.curve
	n.settle(now, prior, c)
	share := 0.0
	for i := range lengthBins {
		c.mass[i] /= c.all
		c.sum[i] /= c.all
		c.square[i] /= c.all
		n.below[i] = share
		share += c.mass[i]
	}
	c.all, n.below[lengthBins] = 1, 1
	n.fresh = 0
}

package chaos

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// leaving is how a client goes.
type leaving uint8

const (
	stays      leaving = iota
	byFIN              // closes its connection
	byReset            // resets it
	halfClosed         // shuts its sending side and goes on reading
)

// order is one request of the schedule: what is asked and how its client behaves.
type order struct {
	n         int
	at        *language
	stream    bool
	sequences int
	model     string
	prompt    string // as it stands in the body
	body      string
	plain     bool     // another replica may go on with the answer
	tokens    int      // of a plain answer
	bound     int      // what a plain one asks for at most; 0: it doesn't say
	pad       string   // stands in each token of an answer that isn't plain
	old       bool     // HTTP/1.0
	lines     []string // headers besides the usual
	asksUsage bool
	explain   bool
	batch     bool
	valid     bool // a replica may get it

	leaves    leaving
	sentBytes int           // leaves after so many bytes of the request; -1: not there
	gotBytes  int           // leaves after so many of the answer; -1: not there
	patience  time.Duration // leaves so long after it has sent the request; 0: not so
	atSeam    bool          // leaves when another replica has been asked to go on
	reads     time.Duration // pause before each read: a slow client
	ahead     time.Duration // one that isn't waited for comes so long after the one before; 0: with it
	pieces    int           // in which it sends the request; 0: one
	between   time.Duration // and the pause after each but the last
	holdsAt   int           // bytes after which it reads nothing
	holds     time.Duration // for so long; 0: it goes on
}

func (o *order) id() string { return fmt.Sprintf("r%d", o.n) }

// story is the order in words.
func (o *order) story(piped bool) string {
	return fmt.Sprintf("%s %s %s stream %t, plain %t, %d sequences, %v, old %t, piped %t, %d pieces %v, reads %v, holds %v at %d, leaves %d after %d sent, %d read, %v",
		o.id(), o.at.name, o.model, o.stream, o.plain, o.sequences, o.lines, o.old, piped, o.pieces, o.between, o.reads, o.holds, o.holdsAt,
		o.leaves, o.sentBytes, o.gotBytes, o.patience)
}

// chance is true n times of 100.
func chance(rng *rand.Rand, n int) bool { return rng.IntN(100) < n }

func pick[T any](rng *rand.Rand, list ...T) T { return list[rng.IntN(len(list))] }

func upTo(rng *rand.Rand, d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d))) }

// draw makes the n-th request of a schedule.
func draw(rng *rand.Rand, n int, all []*language, batches bool) *order {
	o := &order{n: n, at: all[rng.IntN(4)], sequences: 1, valid: true, sentBytes: -1, gotBytes: -1}
	if chance(rng, 20) {
		o.at = pick(rng, all...)
	}
	o.stream = o.at.streams && chance(rng, 70)
	o.model = pick(rng, "m", "m", "m", "quick", "served-fast", "served-big")
	if chance(rng, 2) {
		o.model, o.valid = pick(rng, "ghost-"+o.id(), ""), false
	}
	if o.at.many && chance(rng, 25) {
		if o.sequences = 2 + rng.IntN(2); chance(rng, 5) {
			o.sequences = tooMany
		}
	}
	if o.plain = o.stream && o.at.usage && o.sequences == 1 && chance(rng, 50); o.plain {
		o.tokens = 1 + rng.IntN(12)
	}
	o.batch = batches && chance(rng, 10)
	o.write(rng)
	o.behave(rng)
	return o
}

// write makes body and headers.
func (o *order) write(rng *rand.Rand) {
	o.prompt = o.id() + pick(rng, "", " Grüße", ` \"quoted\" \u00e9`)
	for range rng.IntN(3) * rng.IntN(40) {
		o.prompt += " word"
	}
	more, odd := "", [2]string{`"z": 1.0e-7,`, `,"ünknown":[ ]`}
	if o.plain {
		odd = [2]string{} // fields that might make a difference at the seam
		if o.bound = pick(rng, 0, o.tokens, o.tokens+5, 300); o.bound > 0 {
			more = fmt.Sprintf(`,"max_tokens":%d`, o.bound)
		}
	} else if o.at.streams {
		bound := map[string]string{"responses": "max_output_tokens"}[o.at.name]
		if bound == "" {
			bound = "max_tokens"
		}
		more += fmt.Sprintf(`,"%s":%d`, bound, pick(rng, 4, 10, 40, 300))
	}
	if o.sequences > 1 {
		more += fmt.Sprintf(`,"n":%d`, o.sequences)
	}
	if o.stream {
		more += `,"stream":true`
	}
	if o.stream && o.at.usage && chance(rng, 30) {
		o.asksUsage = true
		more += `,"stream_options":{"include_usage":true}`
	}
	o.body = fmt.Sprintf(`{%s"model":"%s",`+o.at.asks+`%s%s}`, odd[0], o.model, o.prompt, more, odd[1])
	o.explain = chance(rng, 15)
	if o.explain {
		o.lines = append(o.lines, "x-sluice-decision: 1")
	}
	if chance(rng, 10) {
		o.lines = append(o.lines, "x-sluice-class: "+pick(rng, "prefill", "decode"))
	}
	if o.batch {
		o.lines = append(o.lines, "x-sluice-priority: batch")
	}
	if o.old = chance(rng, 5); o.old && chance(rng, 50) {
		o.lines = append(o.lines, "Connection: keep-alive")
	}
	if chance(rng, 10) {
		o.lines = append(o.lines, fmt.Sprintf("x-sluice-timeout-ms: %d", 50+rng.IntN(2000)))
	}
}

// behave says how the client treats the answer.
func (o *order) behave(rng *rand.Rand) {
	switch c := rng.IntN(100); {
	case c < 3:
		o.sentBytes = rng.IntN(300 + len(o.body))
	case c < 15:
		o.gotBytes = rng.IntN(3000)
	case c < 27:
		o.patience = 1 + upTo(rng, 4*time.Second)
	case c < 33:
		o.reads = upTo(rng, 100*time.Millisecond)
	case c < 39:
		o.pieces, o.between = 2+rng.IntN(5), upTo(rng, 500*time.Millisecond)
		if chance(rng, 10) {
			o.between += 3 * time.Second // longer than a request may take
		}
	case c < 43:
		o.holdsAt, o.holds = rng.IntN(2000), upTo(rng, 2*time.Second)
		if chance(rng, 25) {
			o.holds = forGood
		}
		if !o.plain {
			o.pad = strings.Repeat("x", 4000)
		}
	}
	o.atSeam = o.plain && chance(rng, 10)
	if o.sentBytes >= 0 || o.gotBytes >= 0 || o.patience > 0 || o.atSeam {
		o.leaves = pick(rng, byFIN, byFIN, byReset, halfClosed)
	}
}

// forGood is so long that a client that doesn't read is cut, if there is more than
// connections hold.
const forGood = 10 * time.Second

// quick makes the client send at once, and read what comes.
func (o *order) quick() {
	o.sentBytes, o.pieces, o.reads, o.holds, o.old = -1, 0, 0, 0, false
}

// conduct is what a replica does with one attempt.
type conduct uint8

const (
	well       conduct = iota
	busy               // 429 or 503
	fails              // 500
	declines           // 400: the request's fault
	hangs              // says nothing
	mute               // the head, then nothing
	cut                // FIN after any byte
	resets             // reset after any byte
	unfinishes         // a proper end without a finish reason, [DONE] all the same
	aborts             // the engine drops it before a token
	abortsMid          // and after some
	errs               // an error event, or an error under 200
	stalls             // silence after some bytes

	conducts
)

// plan is one attempt's answer, drawn from the seed, the request and the attempt:
// not from the order in which replicas happen to be asked.
type plan struct {
	conduct conduct
	status  int           // of busy
	first   time.Duration // until the answer begins
	gap     time.Duration // between tokens
	tokens  int
	at      int           // the byte or event of the fault
	lingers time.Duration // it works on so long after its client has gone
	torn    bool          // chunks that don't keep to events
}

func planOf(seed uint64, order, attempt int, calm bool) plan {
	rng := rand.New(rand.NewPCG(seed, uint64(order)<<8|uint64(attempt)))
	p := plan{
		first: upTo(rng, 600*time.Millisecond), gap: upTo(rng, 60*time.Millisecond), tokens: 1 + rng.IntN(12),
		at: rng.IntN(2500), lingers: upTo(rng, 500*time.Millisecond), status: pick(rng, 429, 503), torn: chance(rng, 30),
	}
	if chance(rng, 10) {
		p.gap = upTo(rng, time.Second) // slow
	}
	if chance(rng, 10) {
		p.first = upTo(rng, 2500*time.Millisecond) // late
	}
	if !calm && chance(rng, 35) {
		p.conduct = conduct(1 + rng.IntN(int(conducts)-1))
	}
	return p
}

package chaos

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A plain order is one whose answer another replica may go on with. All replicas
// would answer it with the same words, so that a word that is lost at the seam, or
// comes twice, shows.

// promptTokens is what replicas say that a prompt has.
const promptTokens = 5

// vocabulary is words that are one token each, as the gateway's estimate has it too.
const vocabulary = "sun rain wind snow tree leaf root seed bird fish wolf bear lake pond road path wall gate roof door lamp fire wood iron gold salt rice milk"

// word is the i-th of a plain answer: a token. Two orders that are close have few in
// common.
func (o *order) word(i int) string {
	list := strings.Fields(vocabulary)
	word := list[(o.n*(1+o.n%3)+i*5)%len(list)]
	if i == 0 {
		return word
	}
	return " " + word
}

// words is the first n of a plain answer.
func (o *order) words(n int) (text string) {
	for i := range n {
		text += o.word(i)
	}
	return text
}

// leftOf is the bound of the rest of a plain answer of which n tokens are told; 0:
// it has none.
func (o *order) leftOf(n int) int {
	switch {
	case o.bound > 0:
		return max(o.bound-n, 1)
	case o.at.name == "completions":
		return max(usualBound-n, 1)
	}
	return 0
}

// usualBound is that of a completion that asks for none.
const usualBound = 16

// continued is the body that asks for what comes behind the first n words.
func (o *order) continued(served string, n int) string {
	body, text, left := o.relayed(served), o.words(n), o.leftOf(n)
	front, bound := "", fmt.Sprintf(`"max_tokens":%d`, left)
	if o.bound > 0 {
		body = strings.Replace(body, fmt.Sprintf(`"max_tokens":%d`, o.bound), bound, 1)
	}
	if o.at.name == "completions" {
		if o.bound == 0 {
			front = bound + ","
		}
		return "{" + front + strings.Replace(body[1:], o.prompt+`"`, o.prompt+text+`"`, 1)
	}
	front = `"continue_final_message":true,"add_generation_prompt":false,`
	turn := `{"role":"user","content":"` + o.prompt + `"}`
	return "{" + front + strings.Replace(body[1:], turn, turn+`,{"role":"assistant","content":"`+text+`"}`, 1)
}

// askedFrom is how many words a body says are there; 0: it asks for the whole answer.
func (o *order) askedFrom(served, body string) int {
	if !o.plain || body == o.relayed(served) {
		return 0
	}
	for n := 1; n <= o.tokens; n++ {
		if body == o.continued(served, n) {
			return n
		}
	}
	return 0
}

// opened is what the client has of a plain answer when it has n words.
func (o *order) opened(tag string, n int) (text string) {
	for _, event := range o.at.opening(tag) {
		text += event
	}
	for i := range n {
		text += o.at.token(tag, 0, o.word(i))
	}
	return text
}

// seam is the comment between the parts of two replicas, but for the outcome that it
// names.
const seam = ": sluice: the replica failed here (X); another one goes on\n\n"

var seamAsSaid = regexp.MustCompile(`: sluice: the replica failed here \((truncated|stalled|aborted|error_event)\); another one goes on\n\n`)

// heard is what the client got, with the seam as above. The caller holds the world's
// mutex, or the client is gone.
func (v *visit) heard() string {
	text := string(v.body)
	if !v.o.plain {
		return text
	}
	return seamAsSaid.ReplaceAllLiteralString(text, seam)
}

// plainEvents is the stream of a plain order, or what is left of it behind the words
// that the client has.
func (j *job) plainEvents() []piece {
	o, tag := j.v.o, j.tag()
	mine := func(text string) piece {
		return piece{text: text, client: strings.Replace(text, `"id":"`+tag+`"`, `"id":"`+o.id()+`-1"`, 1)}
	}
	if j.from == 0 {
		mine = func(text string) piece { return piece{text: text} }
	}
	var list []piece
	for _, text := range o.at.opening(tag) {
		list = append(list, piece{text: text, hidden: j.from > 0})
	}
	said := j.says()
	for i := range said {
		p := mine(o.at.token(tag, 0, o.word(j.from+i)))
		p.pause, p.shows = j.plan.gap, true
		list = append(list, p)
	}
	switch j.plan.conduct {
	case errs:
		p := mine(o.at.broken)
		p.last = true
		return append(list, p)
	case unfinishes:
	default:
		p := mine(o.at.finish(tag, j.reason(), 0)[0])
		p.shows = j.plan.conduct == well
		list = append(list, p)
	}
	total := piece{text: usageOf(tag, promptTokens+j.from, said), client: usageOf(o.id()+"-1", promptTokens, j.from+said), hidden: !o.asksUsage}
	if j.from == 0 {
		total.client = ""
	}
	list = append(list, total)
	list[max(len(list)-2, 0)].last = true // the usage follows at once
	return append(list, piece{text: "data: [DONE]\n\n", shows: j.plan.conduct == well})
}

// says is how many words a replica adds before it ends, well or not.
func (j *job) says() int {
	left := j.v.o.tokens - j.from
	switch j.plan.conduct {
	case aborts:
		return 0
	case abortsMid, errs, unfinishes:
		return j.plan.at % (left + 1)
	}
	return left
}

func usageOf(tag string, prompt, answer int) string {
	return data(`{"id":"%s","choices":[],"usage":{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d}}`, tag, prompt, prompt+answer, answer)
}

func (j *job) tag() string { return j.v.o.id() + "-" + strconv.Itoa(j.attempt) }

// goesOn notes that a replica is asked for the rest of an answer, and checks that it
// may be: the operator wants it, the answer broke, and this is what the client has.
func (w *world) goesOn(j *job) {
	v, o := j.v, j.v.o
	before := o.opened(o.id()+"-1", j.from)
	var all []*job
	var on *end
	wanted, left, has := false, false, ""
	w.book(func() {
		on, all, has, wanted = v.on, v.jobs, v.heard(), w.wantedSince(v.sent.Add(-o.sending()))
		left = !v.gone.IsZero()
		j.before, j.expect = before+seam, before+seam
	})
	switch {
	case !wanted || o.old || strings.HasPrefix(o.model, "served-"):
		w.fault("%s goes on at %s, which nobody wants", o.id(), j.at.address)
	case j.attempt != 2 || firstOf(all) == nil:
		w.fault("%s goes on at %s in attempt %d, behind %d", o.id(), j.at.address, j.attempt, len(all)-1)
		return
	}
	if o.atSeam {
		w.all.Go(func() {
			<-time.After(j.plan.first/2 + 1)
			w.leave(on, v)
		})
	}
	switch first := firstOf(all); {
	case first.at == j.at || w.servedBy(first.at.address) != w.servedBy(j.at.address):
		w.fault("%s goes on at %s, which isn't another of the same model as %s", o.id(), j.at.address, first.at.address)
	case !strings.HasPrefix(first.told(), before) || !left && !strings.HasPrefix(before, has): // who leaves at this moment hears how it ends
		w.fault("%s goes on behind %d words, its client has\n%q\nof\n%q", o.id(), j.from, has, first.told())
	}
}

// firstOf finds the first attempt of those that reached a replica; nil: none did. It
// may be there twice, as may the second: on a connection that had died, and anew.
func firstOf(all []*job) (first *job) {
	for _, j := range all {
		if j.attempt == 1 {
			first = j
		}
	}
	return first
}

// told is what the client may see of the answer.
func (j *job) told() (text string) {
	j.at.w.book(func() { text = j.expect })
	return text
}

// sending is how long a request takes to be sent: the policy is that of its first byte.
func (o *order) sending() time.Duration { return time.Duration(o.pieces) * o.between }

// wantedSince tells whether any policy since then had broken answers gone on with.
// The caller holds the mutex.
func (w *world) wantedSince(since time.Time) bool {
	for i, c := range w.caps {
		if c.p.goesOn && (i+1 == len(w.caps) || !w.caps[i+1].at.Before(since)) {
			return true
		}
	}
	return false
}

package openai

import (
	"math"
	"sync"
)

// EstimateError is the error that the estimator is documented to keep to, as a
// part of the true count: at most 30 % for 95 of 100 kinds of text that it
// wasn't fitted to. See doc.go for what it can't do.
const EstimateError = 0.30

// What Gemma 3 adds to a prompt's text, in tokens.
const (
	firstTurn   = 9   // bos, the frame of one user turn, and the opening of the answer
	furtherTurn = 5   // the frame of each turn after it
	systemJoin  = 1   // the blank line between system text and the first turn
	bareText    = 1   // bos before a prompt that is no conversation
	pairJoin    = 2   // bos, and what stands between the two texts of a pair
	imageTokens = 260 // 256 for the picture, 4 to frame it
)

// truncateUnknown says that the replica will cut a prompt, at a limit of its own.
const truncateUnknown = -1

// Features are what the estimator needs of the prompts of one request: a few
// numbers that can be kept after the body is gone. Estimates in it are in
// Gemma 3's tokens, before calibration.
type Features struct {
	Text    float64 // estimate of the text of all prompts
	Longest float64 // and of the longest of them
	Tools   float64 // estimate of the tools, as JSON
	Schemas float64 // estimate of the schemas that force the answer's shape

	ExactTokens  int // token ids of all prompts
	LongestExact int // and of the longest of them

	Prompts   int  // at least 1; more for a batch
	Turns     int  // of the conversation, without system messages
	HasSystem bool // there is text to instruct the model from outside the turns
	Images    int
	Frame     int // tokens that the chat template adds to all prompts
	Truncate  int // the client lets the replica cut prompts to this; 0: no; -1: to a limit of its own
}

func (f *Features) addText(tokens float64) {
	f.Text += tokens
	f.Longest = max(f.Longest, tokens)
}

// frame is what the template adds to the text.
func (in *inspector) frame() int {
	f := in.f
	switch {
	case f.Endpoint == Score || f.Endpoint == Rerank:
		return pairJoin * f.Prompts
	case f.Turns > 0 && f.HasSystem:
		return firstTurn + furtherTurn*(f.Turns-1) + systemJoin
	case f.Turns > 0:
		return firstTurn + furtherTurn*(f.Turns-1)
	case f.Text > 0:
		return bareText * f.Prompts
	}
	return 0
}

// Count is how many tokens the prompts of one request are.
type Count struct {
	Total         int  // of all prompts: what a replica has to read
	Longest       int  // of the longest prompt: what must fit into the model's context
	LongestSurely int  // what the longest prompt surely reaches, unless the text is of a degenerate kind
	LongestAtMost int  // what it surely doesn't exceed, with the same exception
	Exact         bool // the prompts came as token ids: nothing was estimated
}

// Estimator turns features into tokens and learns from what the replicas
// report. There is one for each served model; it is safe for concurrent use.
type Estimator struct {
	mu      sync.Mutex // guards learned
	learned calibration
}

// calibration is what an estimator has learned; its zero value is nothing.
type calibration struct {
	bias       float64 // mean log of true tokens over estimated ones, of text
	toolsOut   float64 // part of the tools that the chat template leaves out
	schemasOut float64 // part of the schemas that does not reach the prompt
}

const (
	learnRate  = 0.05 // weight of one answer: a new mix of texts shows after some twenty
	learnLimit = 0.7  // a factor of 2 either way is all that calibration may do
	learnFloor = 32   // shorter texts tell more of the template than of the tokenizer
)

// NewEstimator returns an estimator that has learned nothing.
func NewEstimator() *Estimator { return new(Estimator) }

// Estimate counts the tokens of a request's prompts.
func (e *Estimator) Estimate(facts *Facts) Count {
	f := &facts.Features
	known := e.known()
	scale := math.Exp(known.bias)
	fixed := f.fixed()
	beside := f.Tools*(1-known.toolsOut) + f.Schemas*(1-known.schemasOut)
	c := Count{
		Total: round(fixed + scale*(f.Text+beside)),
		Exact: f.ExactTokens > 0 && f.Text+f.Tools+f.Schemas == 0 && f.Images == 0,
	}
	c.Longest = c.Total
	surely := fixed + scale*f.Text*(1-EstimateError)
	most := fixed + scale*(f.Text+beside)/(1-EstimateError)
	if f.Prompts > 1 {
		one := float64(f.Frame/f.Prompts) + scale*f.Longest
		c.Longest = max(f.LongestExact, round(one))
		surely = max(float64(f.LongestExact), one*(1-EstimateError))
		most = max(float64(f.LongestExact), one/(1-EstimateError))
	}
	c.LongestSurely, c.LongestAtMost = int(surely), int(math.Ceil(most))
	return c.truncated(f)
}

// fixed is the part of the prompts that needs no estimate.
func (f *Features) fixed() float64 {
	return float64(f.ExactTokens + f.Frame + f.Images*imageTokens)
}

// truncated applies what the client lets the replica cut.
func (c Count) truncated(f *Features) Count {
	if f.Truncate == truncateUnknown {
		c.LongestSurely = 0
	}
	if f.Truncate > 0 {
		c.Longest = min(c.Longest, f.Truncate)
		c.LongestSurely = min(c.LongestSurely, f.Truncate)
		c.LongestAtMost = min(c.LongestAtMost, f.Truncate)
		c.Total = min(c.Total, f.Truncate*f.Prompts)
	}
	return c
}

// Learn takes the prompt tokens that a replica reported for the request of these
// facts. A request teaches of what it mostly consists of: text, tools or schemas.
// (Gemma 3's own template prints no tools, others do, and schemas only guide the
// decoder; so what reaches the prompt has to be seen.)
func (e *Estimator) Learn(facts *Facts, promptTokens int) {
	f := &facts.Features
	actual := float64(promptTokens) - f.fixed()
	if f.Text+f.Tools+f.Schemas < learnFloor || actual < 1 || f.Truncate != 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	known := &e.learned
	beside := actual/math.Exp(known.bias) - f.Text // what is left for tools and schemas, before calibration
	switch {
	case f.Tools+f.Schemas <= f.Text/10:
		move(&known.bias, math.Log(actual/(f.Text+f.Tools+f.Schemas)), -learnLimit, learnLimit)
	case f.Tools > f.Text/4 && f.Schemas <= f.Tools/10:
		move(&known.toolsOut, 1-beside/f.Tools, -learnLimit, 1)
	case f.Schemas > f.Text/4 && f.Tools <= f.Schemas/10:
		move(&known.schemasOut, 1-beside/f.Schemas, -learnLimit, 1)
	}
}

// move takes one step of a moving mean to what was seen, within limits.
func move(mean *float64, seen, low, high float64) {
	*mean += learnRate * (min(max(seen, low), high) - *mean)
}

func (e *Estimator) known() calibration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.learned
}

func round(tokens float64) int { return int(math.Round(tokens)) }

package openai

// Verdict is what an answer that isn't streamed turned out to be.
type Verdict struct {
	Ending     Ending
	Usage      Usage
	HasUsage   bool // false: the counts are unknown, not 0
	HasContent bool // it bears tokens; an aborted answer without any may be tried elsewhere
}

// Said is 1 if the answer bears tokens, as Walker.Said counts events.
func (v Verdict) Said() int {
	if v.HasContent {
		return 1
	}
	return 0
}

// JudgeAnswer judges the whole body of a JSON answer under a 2xx status that isn't
// streamed. A body that is empty or no JSON is EndingOpen: it was cut, whatever its
// framing says. Calls that generate nothing are complete when they are JSON and
// report no error. Vectors as raw bytes, and answers of relay.extra_paths, have only
// their framing to be judged by; don't ask.
func JudgeAnswer(e Endpoint, body []byte) Verdict {
	if e == Responses || e == Messages {
		return judgeWhole(e, body)
	}
	return judgeChoices(e, body)
}

// judgeChoices judges answers with choices, and the calls that have none.
func judgeChoices(e Endpoint, body []byte) Verdict {
	c, ok := readChunk(body)
	if !ok {
		ending := endingOfNoObject(e, body)
		return Verdict{Ending: ending, HasContent: ending == EndingComplete}
	}
	t := newTally(e, 0)
	t.noteChoices(&c, body)
	if c.failed {
		t.report(EndingError)
	}
	return Verdict{
		Ending:     t.ending(),
		Usage:      c.usage.usage(),
		HasUsage:   c.usage.seen,
		HasContent: c.tokens || t.anyhow && !c.failed,
	}
}

// endingOfNoObject judges what isn't an object: some calls that generate nothing
// answer with an array.
func endingOfNoObject(e Endpoint, body []byte) Ending {
	s := newScanner(body, eventDepth)
	s.skip()
	s.end()
	if s.err != nil || !newTally(e, 0).anyhow {
		return EndingOpen
	}
	return EndingComplete
}

// wholeAnswer is what the body of a Responses or a Messages answer says.
type wholeAnswer struct {
	content bool
	status  []byte // Responses
	stop    reason // Messages
	failed  bool
	usage   usageCount
}

// readWhole reads the body; false if it isn't a JSON object.
func readWhole(body []byte) (wholeAnswer, bool) {
	var a wholeAnswer
	s := newScanner(body, eventDepth)
	if s.peek() != '{' {
		return a, false
	}
	for s.enterObject(); s.member(); {
		switch string(s.key) {
		case "output", "content":
			a.content = readItems(&s) || a.content
		case "status":
			a.status = readText(&s)
		case "stop_reason":
			a.stop = readReason(&s)
		case "usage":
			a.usage.read(&s)
		case "error":
			a.failed = bears(&s)
		default:
			s.skip()
		}
	}
	s.end()
	return a, s.err == nil
}

// readItems reports whether any item of a list holds something the model said.
func readItems(s *scanner) bool {
	if s.peek() != '[' {
		s.skip()
		return false
	}
	said := false
	for s.enterArray(); s.element(); {
		said = readItem(s) || said
	}
	return said
}

// judgeWhole judges an answer of Responses by its status and one of Messages by
// its stop reason. A response that is queued or in progress is open: work in the
// background isn't relayed.
func judgeWhole(e Endpoint, body []byte) Verdict {
	a, ok := readWhole(body)
	if !ok {
		return Verdict{}
	}
	t := newTally(e, 1)
	t.noteStatus(a.status)
	t.note(0, a.stop)
	if a.failed && t.worst != EndingFailed {
		t.report(EndingError)
	}
	if e == Messages || t.done > 0 {
		t.close()
	}
	return Verdict{Ending: t.ending(), Usage: a.usage.usage(), HasUsage: a.usage.seen, HasContent: a.content}
}

package openai

// Verdict is what an answer that isn't streamed turned out to be.
type Verdict struct {
	Ending     Ending
	Usage      Usage
	HasUsage   bool
	HasContent bool // it bears tokens: an aborted answer without any may be tried elsewhere
}

// JudgeAnswer reads a whole JSON answer that isn't streamed.
func JudgeAnswer(e Endpoint, body []byte) Verdict { return Verdict{} }

package openai

// Said is the text of a request's prompts, where text is all that a template puts
// into them. It holds parts of the body.
type Said struct {
	Prompts [][]byte // that are no conversation

	Chat      bool // it is a conversation
	System    []byte
	HasSystem bool
	Turns     []SaidTurn
}

// SaidTurn is one message, without the first if that is the system's.
type SaidTurn struct {
	Role  []byte
	Texts [][]byte // of its parts; one if the content is a string
}

// alters lists the fields by which a client changes how its prompt is put together.
// What then comes out is not known here.
var alters = [...]string{
	"add_generation_prompt", "continue_final_message", "add_special_tokens", "chat_template", "chat_template_kwargs",
	"documents", "tools", "functions", "reasoning", "reasoning_effort", "thinking", "prompt", "prompt_embeds", "suffix", "mm_processor_kwargs",
}

// Said reads the text of the prompts in a body that these facts are of. It is false
// where there is more to them than text: images, tools and calls of them, token ids,
// fields that change the template; and for pairs.
func (f *Facts) Said(body []byte) (Said, bool) {
	if f.Images > 0 || f.ExactTokens > 0 {
		return Said{}, false
	}
	for _, name := range alters {
		if f.Field(name) && (name != "prompt" || f.Endpoint != Completions) {
			return Said{}, false
		}
	}
	r := saidReader{scanner: newScanner(body, MaxDepth), endpoint: f.Endpoint}
	r.body()
	return r.said, r.err == nil && !r.odd && r.said.Chat != (len(r.said.Prompts) > 0)
}

// CountedExactly is the count of prompts whose text was counted: total is all their
// tokens, longest those of the longest, both with what the template adds.
func (f *Facts) CountedExactly(total, longest int) Count {
	return Count{Total: total, Longest: longest, LongestSurely: longest, LongestAtMost: longest, Exact: true}.truncated(&f.Features)
}

// saidReader walks over a body that Inspect has found good.
type saidReader struct {
	scanner
	endpoint Endpoint
	said     Said
	odd      bool // there was something other than text
}

func (r *saidReader) body() {
	if r.peek() != '{' {
		r.odd = true
		return
	}
	for r.enterObject(); r.member() && !r.odd; {
		switch fieldOf(r.endpoint, r.key) {
		case fieldMessages:
			r.messages()
		case fieldPrompt:
			r.prompts()
		case fieldInput:
			r.input()
		case fieldSystem:
			r.system()
		default:
			r.skip()
		}
	}
}

// input is a conversation for /v1/responses, and a batch of prompts elsewhere.
func (r *saidReader) input() {
	switch {
	case r.endpoint != Responses:
		r.prompts()
	case r.peek() == '"':
		r.said.Chat = true
		r.said.Turns = append(r.said.Turns, SaidTurn{Role: []byte("user"), Texts: [][]byte{r.chars()}})
	default:
		r.messages()
	}
}

func (r *saidReader) prompts() {
	if r.peek() == '"' {
		r.said.Prompts = append(r.said.Prompts, r.chars())
		return
	}
	r.list(func() { r.said.Prompts = append(r.said.Prompts, r.chars()) })
}

// system is the text that instructs the model from outside the messages. An empty
// one may count as none.
func (r *saidReader) system() {
	if r.peek() == 'n' {
		r.literal()
		return
	}
	text := join(r.content())
	r.odd = r.odd || len(text) == 0 || r.said.HasSystem
	r.said.System, r.said.HasSystem = text, true
}

func join(texts [][]byte) []byte {
	if len(texts) == 1 {
		return texts[0]
	}
	var all []byte
	for _, t := range texts {
		all = append(all, t...)
	}
	return all
}

func (r *saidReader) messages() {
	r.said.Chat = true
	first := true
	r.list(func() {
		t := r.message()
		if first && string(t.Role) == "system" && !r.said.HasSystem && len(t.Texts) > 0 {
			r.said.System, r.said.HasSystem = t.Texts[0], true // the template takes the first part alone
		} else {
			r.said.Turns = append(r.said.Turns, t)
		}
		first = false
	})
}

// message reads one message. Members that no template of a text looks at may be
// there; any other must be null.
func (r *saidReader) message() (t SaidTurn) {
	r.object(func() {
		switch string(r.key) {
		case "role":
			t.Role = r.chars()
		case "content":
			t.Texts = r.content()
		case "type":
			r.odd = string(r.chars()) != "message" || r.odd
		case "name", "id", "status":
			r.skip()
		default:
			r.odd = r.peek() != 'n' || r.odd
			r.skip()
		}
	})
	r.odd = r.odd || t.Role == nil || t.Texts == nil
	return t
}

// content reads a text, or a list of parts that are texts.
func (r *saidReader) content() (texts [][]byte) {
	if r.peek() == '"' {
		return [][]byte{r.chars()}
	}
	r.list(func() { texts = append(texts, r.part()) })
	return texts
}

// part reads a part of content that is a text.
func (r *saidReader) part() (text []byte) {
	named := false
	r.object(func() {
		switch string(r.key) {
		case "type":
			switch string(r.chars()) {
			case "text", "input_text", "output_text":
				named = true
			}
		case "text":
			text = r.chars()
		default:
			r.skip()
		}
	})
	r.odd = r.odd || !named || text == nil
	return text
}

// list reads an array; element consumes each value.
func (r *saidReader) list(element func()) {
	if r.peek() != '[' {
		r.pass()
		return
	}
	for r.enterArray(); r.element(); {
		if r.odd {
			r.skip()
			continue
		}
		element()
	}
}

// object reads an object; member consumes each value.
func (r *saidReader) object(member func()) {
	if r.peek() != '{' {
		r.pass()
		return
	}
	for r.enterObject(); r.member(); {
		member()
	}
}

// chars reads a string, decoded; it isn't nil if it is one.
func (r *saidReader) chars() []byte {
	if r.peek() != '"' {
		r.pass()
		return nil
	}
	t := r.str()
	if !t.escaped {
		return t.raw[:len(t.raw):len(t.raw)]
	}
	return t.decode(make([]byte, 0, len(t.raw)))
}

// pass steps over what is not as it should be.
func (r *saidReader) pass() {
	r.odd = true
	r.skip()
}

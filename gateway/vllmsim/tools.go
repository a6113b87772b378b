package vllmsim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"sluice/gateway/vllmsim/form"
)

// tool is a function that an answer may call.
type tool struct {
	name       string
	parameters json.RawMessage // a schema; null or empty: it takes none
	schema     *form.Schema
}

// toolbox is the tools of a request and what it says about calling them.
type toolbox struct {
	tools  []tool
	choice string // auto, required or none; empty: named
	named  string // the tool that has to be called
	single bool   // one call at most
	hint   string // what the user said last; empty: a tool answered last
}

// call is one call of a tool within the text of an answer.
type call struct {
	name     string
	from, to int // where its arguments are, in bytes
}

// forces says whether the answer has to be a call.
func (b *toolbox) forces() bool { return b.named != "" || b.choice == "required" }

// find is the tool of a name; nil: there is none.
func (b *toolbox) find(name string) *tool {
	for i := range b.tools {
		if b.tools[i].name == name {
			return &b.tools[i]
		}
	}
	return nil
}

// prepare reads the schemas of what may be called. Where a call is forced, one
// that can't be read is refused; otherwise its tool is never called.
func (b *toolbox) prepare() *failure {
	usable := b.tools[:0:0]
	for _, t := range b.tools {
		if b.choice == "none" || b.named != "" && b.named != t.name {
			continue
		}
		err := t.prepare()
		if err != nil && b.forces() {
			return unwritable(err)
		}
		if err == nil {
			usable = append(usable, t)
		}
	}
	b.tools = usable
	return nil
}

func (t *tool) prepare() error {
	if isNull(t.parameters) || string(t.parameters) == "{}" {
		t.parameters = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	var err error
	t.schema, err = form.NewSchema(t.parameters)
	return err
}

// script is the calls of an answer, or nil where it is a text. A call that the
// request names is its arguments alone; others stand in a list with their names,
// as vLLM makes a model write them where one is required. The last token has no
// text: it only ends the turn.
func (b *toolbox) script(seed uint64, most int) *script {
	dice := rand.New(rand.NewPCG(seed, 0))
	picked := b.pick(dice)
	if len(picked) == 0 {
		return nil
	}
	s := &script{}
	var text string
	if b.named != "" {
		text = s.write("", picked[0], dice.Uint64(), room(most))
	} else {
		text = s.list(picked, dice, room(most))
	}
	s.pieces = append(split(text), "")
	return s
}

// list writes calls in a list.
func (s *script) list(picked []*tool, dice *rand.Rand, room int) string {
	text, before := "", "["
	for _, t := range picked {
		text += before + fmt.Sprintf(`{"name": %s, "parameters": `, mustJSON(t.name))
		text = s.write(text, t, dice.Uint64(), room) + "}"
		before = ", "
	}
	return text + "]"
}

// write writes a call's arguments behind a text. A tool without parameters gets
// none, whatever else its schema would allow.
func (s *script) write(text string, t *tool, seed uint64, room int) string {
	arguments := "{}"
	if !t.schema.Bare() {
		arguments = t.schema.Text(seed, room-len(text))
	}
	s.calls = append(s.calls, call{t.name, len(text), len(text) + len(arguments)})
	return text + arguments
}

// pick decides what is called: one tool, the one that the user hints at if there
// is one; now and then another one as well.
func (b *toolbox) pick(dice *rand.Rand) []*tool {
	if len(b.tools) == 0 {
		return nil
	}
	hinted := b.hinted()
	if !b.forces() && !b.calls(dice, hinted) {
		return nil
	}
	if hinted == nil {
		hinted = &b.tools[dice.IntN(len(b.tools))]
	}
	picked := []*tool{hinted}
	if b.named == "" && !b.single && dice.IntN(4) == 0 {
		picked = append(picked, &b.tools[dice.IntN(len(b.tools))])
	}
	return picked
}

// calls decides whether a tool is called where the model may choose: when the
// user hints at one, or speaks of tools, and else one time in four; never right
// after a tool has answered, so that conversations come to an end.
func (b *toolbox) calls(dice *rand.Rand, hinted *tool) bool {
	if b.hint == "" {
		return false
	}
	return hinted != nil || strings.Contains(b.hint, "tool") || dice.IntN(4) == 0
}

// hinted is the first tool whose name the user said, with spaces for underscores
// or without.
func (b *toolbox) hinted() *tool {
	said := strings.ReplaceAll(b.hint, "_", " ")
	for i := range b.tools {
		if name := strings.ToLower(strings.ReplaceAll(b.tools[i].name, "_", " ")); name != "" && strings.Contains(said, name) {
			return &b.tools[i]
		}
	}
	return nil
}

package openai

// BadBody is the refusal of a body that is not worth a replica's time: it is
// not JSON, has no model, or gives a field twice that we act on. It becomes a
// 400 with this message and param.
type BadBody struct {
	Param   string // the field at fault; "" for the body as a whole
	Message string // for the client
}

func (b *BadBody) Error() string { return b.Message }

// Facts are what a request's body says that a decision may use. They hold no
// part of the body, only numbers, places in it, and the model's name.
type Facts struct {
	Features

	Endpoint   Endpoint
	Model      string // as the client wrote it; "" only for Extra
	Stream     bool
	UsageAsked bool   // stream_options.include_usage is true
	StateField string // a field that needs state kept on one replica; "" for none

	OutBound  int // most tokens that one sequence can generate; -1: no bound
	MinTokens int // fewest, 0 if not given
	Sequences int // prompts × n: how many are decoded at once; at least 1
	BestOf    int // best_of; the replica ignores it, so Sequences does too
	IgnoreEOS bool
	Echo      bool

	boundGuessed bool // OutBound is an estimate: what the answer may be was named, not how long

	modelAt span // the value of model
	talk    talk
	options options
	few     [fewMembers]member
	more    []member // beyond the few
	count   int      // members in all
}

// options is where a splice would have to ask for usage.
type options struct {
	state optionsState
	at    span // the value of stream_options
	usage span // the value of its include_usage
}

// optionsState is what stream_options says; each member read can only raise it.
type optionsState uint8

const (
	optionsAbsent  optionsState = iota
	optionsNull                 // null
	optionsEmpty                // {}
	optionsSilent               // other members only
	optionsRefuses              // include_usage is false or null
	optionsFixed                // nothing to change: usage is asked for, or the replica will refuse it
)

// fewMembers is how many top-level members need no allocation. A chat request
// has about ten.
const fewMembers = 24

// maxMembers is how many there may be at all. Without a limit, a body of tiny
// members would take many times its size in notes about them.
const maxMembers = 1024

// member is a top-level member of the body.
type member struct {
	hash uint64 // of its decoded name
	at   span   // from the quote of its name to the end of its value
	null bool
}

// Field reports whether the body has a top-level member of that name whose
// value isn't null.
func (f *Facts) Field(name string) bool {
	hash := hashName(name)
	for i := range f.count {
		if m := f.member(i); m.hash == hash && !m.null {
			return true
		}
	}
	return false
}

func (f *Facts) member(i int) *member {
	if i < fewMembers {
		return &f.few[i]
	}
	return &f.more[i-fewMembers]
}

func (f *Facts) addMember(m member) {
	if f.count < fewMembers {
		f.few[f.count] = m
	} else {
		f.more = append(f.more, m)
	}
	f.count++
}

// hashName is FNV-1a with 64 bits. Two names that a client made collide could
// only get its own request refused or trimmed.
func hashName[T string | []byte](name T) uint64 {
	hash := uint64(14695981039346656037)
	for i := range len(name) {
		hash = (hash ^ uint64(name[i])) * 1099511628211
	}
	return hash
}

package openai

// field is a top-level member of a body that the gateway acts on.
type field uint8

const (
	noField field = iota
	fieldModel
	fieldStream
	fieldStreamOptions
	fieldIgnoreEOS
	fieldEcho

	fieldN // numbers, in the order of counts
	fieldBestOf
	fieldMinTokens
	fieldTruncate
	fieldMaxTokens
	fieldMaxCompletion
	fieldMaxOutput

	fieldStructured
	fieldResponseFormat
	fieldTextFormat

	fieldStored // in the order of stateNames
	fieldKept
	fieldBackground
	fieldConversation

	fieldMessages
	fieldPrompt
	fieldInput
	fieldSystem
	fieldTools
	fieldOneSide
	fieldOtherSide
	fieldImages
)

var stateNames = [...]string{"previous_response_id", "store", "background", "conversation"}

// endpointSet has a bit for each endpoint.
type endpointSet uint32

const (
	chat      = endpointSet(1) << Chat
	complete  = endpointSet(1) << Completions
	responses = endpointSet(1) << Responses
	messages  = endpointSet(1) << Messages
	embed     = endpointSet(1)<<Embeddings | 1<<Pooling | 1<<Classify
	pairs     = endpointSet(1)<<Score | 1<<Rerank
	extra     = endpointSet(1) << Extra
	generate  = chat | complete | responses | messages
	anywhere  = ^endpointSet(0)
)

// actsOn says where a field means something. Elsewhere it is a field like any
// other: max_tokens bounds nothing in /v1/responses. Calls that generate
// nothing need only their model.
var actsOn = [...]endpointSet{
	noField:             0,
	fieldModel:          anywhere,
	fieldStream:         generate | extra,
	fieldStreamOptions:  chat | complete,
	fieldIgnoreEOS:      chat | complete,
	fieldEcho:           complete,
	fieldN:              chat | complete,
	fieldBestOf:         chat | complete,
	fieldMinTokens:      chat | complete,
	fieldTruncate:       generate | embed | pairs,
	fieldMaxTokens:      chat | complete | messages,
	fieldMaxCompletion:  chat,
	fieldMaxOutput:      responses,
	fieldStructured:     chat | complete | responses,
	fieldResponseFormat: chat | complete,
	fieldTextFormat:     responses,
	fieldStored:         responses,
	fieldKept:           responses,
	fieldBackground:     responses,
	fieldConversation:   responses,
	fieldMessages:       chat | messages | embed,
	fieldPrompt:         complete,
	fieldInput:          responses | embed,
	fieldSystem:         responses | messages,
	fieldTools:          chat | responses | messages,
	fieldOneSide:        pairs,
	fieldOtherSide:      pairs,
	fieldImages:         embed,
}

// fieldOf finds the field of a decoded name. Names match by exact case, as
// they do in the replica.
func fieldOf(e Endpoint, name []byte) field {
	f := anyField(name)
	if f == noField {
		f = textField(name)
	}
	if actsOn[f]>>e&1 == 0 {
		return noField
	}
	return f
}

func anyField(name []byte) field {
	switch string(name) {
	case "model":
		return fieldModel
	case "stream":
		return fieldStream
	case "stream_options":
		return fieldStreamOptions
	case "ignore_eos":
		return fieldIgnoreEOS
	case "echo":
		return fieldEcho
	case "n":
		return fieldN
	case "best_of":
		return fieldBestOf
	case "min_tokens":
		return fieldMinTokens
	case "truncate_prompt_tokens":
		return fieldTruncate
	case "max_tokens":
		return fieldMaxTokens
	case "max_completion_tokens":
		return fieldMaxCompletion
	case "max_output_tokens":
		return fieldMaxOutput
	case "structured_outputs":
		return fieldStructured
	case "response_format":
		return fieldResponseFormat
	}
	return noField
}

func textField(name []byte) field {
	switch string(name) {
	case "messages":
		return fieldMessages
	case "prompt":
		return fieldPrompt
	case "input", "texts", "inputs":
		return fieldInput
	case "system", "instructions":
		return fieldSystem
	case "tools":
		return fieldTools
	case "query", "queries", "text_1", "data_1":
		return fieldOneSide
	case "documents", "items", "text_2", "data_2":
		return fieldOtherSide
	case "images":
		return fieldImages
	case "text":
		return fieldTextFormat
	case "previous_response_id":
		return fieldStored
	case "store":
		return fieldKept
	case "background":
		return fieldBackground
	case "conversation":
		return fieldConversation
	}
	return noField
}

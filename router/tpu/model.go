package tpu

// Model is the architecture of a model, as far as it costs.
type Model struct {
	GlobalLayers int     // attend to the whole context
	LocalLayers  int     // attend to the last Window tokens
	Window       int     // tokens
	KVBytes      float64 // of one token in one layer, bf16
	Params       float64 // without embeddings and vision
	Embedding    float64 // parameters, used once more as the output layer
	Vision       float64 // parameters of the image encoder
	MaxContext   int     // tokens that the model was trained for
}

// ModelOf finds a model by the name that the configuration uses. False: not
// known here. Source: the published configurations of Gemma 3 and its report.
// Five layers of six attend to a window of 1,024 tokens only. KVBytes is
// 2 (key, value) × heads × size of a head × 2 bytes.
func ModelOf(name string) (Model, bool) {
	m := Model{Window: 1024, Vision: 0.42e9, MaxContext: 131072}
	switch name {
	case "gemma-3-4b":
		m.GlobalLayers, m.LocalLayers, m.KVBytes = 5, 29, 2*4*256*2
		m.Params, m.Embedding = 3.21e9, 0.67e9
	case "gemma-3-12b":
		m.GlobalLayers, m.LocalLayers, m.KVBytes = 8, 40, 2*8*256*2
		m.Params, m.Embedding = 10.76e9, 1.01e9
	case "gemma-3-27b":
		m.GlobalLayers, m.LocalLayers, m.KVBytes = 10, 52, 2*16*128*2
		m.Params, m.Embedding = 25.60e9, 1.41e9
	default:
		return Model{}, false
	}
	return m, true
}

// Models lists the names that ModelOf knows.
func Models() []string { return []string{"gemma-3-4b", "gemma-3-12b", "gemma-3-27b"} }

// WeightBytes is the memory of the weights in bf16.
func (m Model) WeightBytes() float64 { return 2 * (m.Params + m.Embedding + m.Vision) }

// kvRead is the bytes of KV cache that a step reads: of so many tokens in each
// global layer, and of local ones in each local layer.
func (m Model) kvRead(context, local int) float64 {
	return m.KVBytes * (float64(m.GlobalLayers)*float64(context) + float64(m.LocalLayers)*float64(local))
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

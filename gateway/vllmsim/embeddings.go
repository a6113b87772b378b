package vllmsim

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
)

// embeddingRequest is the body of /v1/embeddings, as far as it matters here.
type embeddingRequest struct {
	Model      string          `json:"model"`
	Input      json.RawMessage `json:"input"`
	Format     string          `json:"encoding_format"`
	Dimensions int             `json:"dimensions"`
}

// defaultDimensions is the length of the stub vectors.
const defaultDimensions = 16

// parseEmbeddings reads a request for vectors that mean nothing but depend on
// the input only. Its prompts go through the engine like any others. (A real
// Gemma 3 replica has no such route; the stub is for clients' tests.)
func parseEmbeddings(r *http.Request) (*work, error) {
	var body embeddingRequest
	if err := decodeBody(r, &body); err != nil {
		return nil, err
	}
	setDefault(&body.Dimensions, defaultDimensions)
	if body.Dimensions < 0 || body.Dimensions > 8192 {
		return nil, badRequest("dimensions", "dimensions must be between 1 and 8192, got %d.", body.Dimensions)
	}
	prompts, err := readPrompts("input", body.Input)
	if err != nil {
		return nil, err
	}
	return &work{params: params{Model: body.Model}, prompts: prompts, most: 1, vectors: &body}, nil
}

// embeddingShape writes vectors; they are never streamed.
type embeddingShape struct{ completionShape }

func (embeddingShape) whole(r *reply, _ []string) any {
	body := r.work.vectors
	data := make(list, len(r.work.prompts))
	for i, p := range r.work.prompts {
		var vector any = unitVector(p.seed, body.Dimensions)
		if body.Format == "base64" {
			vector = packed(unitVector(p.seed, body.Dimensions))
		}
		data[i] = obj("index", i, "object", "embedding", "embedding", vector)
	}
	return obj("id", "embd-"+r.id, "object", "list", "created", r.created, "model", r.work.Model, "data", data, "usage", r.usageObject())
}

// unitVector draws a vector of length 1 from a seed.
func unitVector(seed uint64, dimensions int) []float32 {
	vector, square := make([]float32, dimensions), 0.0
	for i := range vector {
		v := float64(int64(mix(seed+uint64(i)))) / (1 << 63)
		vector[i] = float32(v)
		square += v * v
	}
	for i := range vector {
		vector[i] /= float32(math.Sqrt(square))
	}
	return vector
}

// packed is a vector as base64 of little-endian float32.
func packed(vector []float32) string {
	var raw []byte
	for _, v := range vector {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return base64.StdEncoding.EncodeToString(raw)
}

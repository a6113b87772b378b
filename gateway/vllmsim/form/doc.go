// Package form writes texts that a JSON schema or a regular expression accepts, as
// a model does whose answers are held to a form. The texts mean nothing, and
// follow from a seed alone. It knows nothing of replicas, requests and tokens.
//
//	s, err := form.NewSchema([]byte(`{"type":"integer","minimum":3}`))
//	s.Text(1, 100) // 57, say
//
// A schema is compiled first (compile.go): allOf and references are merged into one
// object (merge.go), and what is left is read by the type of a value: kind.go,
// number.go, letters.go, items.go, fields.go, each of which also writes what it
// reads. References may go round in circles. So each schema learns how deep its
// shallowest value is (depth.go): from a few levels on a text takes the shallowest
// way out, and a schema without a value is found before anything is written. What
// isn't understood is refused; nothing is ever written that a schema forbids.
//
// A regular expression is written by a walk over its syntax tree (pattern.go).
// Anchors and word boundaries are not looked at on the way; instead the text is
// tried, and drawn again when it doesn't match.
//
// Errors are in the words of vLLM's back ends, or near them.
package form

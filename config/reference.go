package config

import _ "embed"

// Reference is config/reference.yaml: a file that can be loaded, with every key,
// its default and what it is for.
//
//go:embed reference.yaml
var Reference string

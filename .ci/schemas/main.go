// Command schemas turns Kubernetes' own API description into JSON schemas for
// kubeconform, so that manifests are checked without asking a cluster or anyone:
//
//	go run .ci/schemas/main.go swagger.json FOLDER
//
// FOLDER gets all definitions in one file, and a file for each kind that refers
// into it. Unknown fields are errors: that is how a misspelt one is found.
package main

import (
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"strings"
)

type object = map[string]any

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: schemas SWAGGER FOLDER")
	}
	if err := convert(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func convert(swagger, folder string) error {
	text, err := os.ReadFile(swagger)
	if err != nil {
		return err
	}
	var api struct{ Definitions map[string]object }
	if err := json.Unmarshal(text, &api); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, d := range api.Definitions {
		for _, file := range filesOf(d) {
			ref := object{"$ref": "definitions.json#/definitions/" + name}
			if err := write(filepath.Join(folder, file), ref); err != nil {
				return err
			}
		}
		api.Definitions[name] = strict(name, d)
	}
	return write(filepath.Join(folder, "definitions.json"), object{"definitions": api.Definitions})
}

// filesOf names a kind's files as kubeconform looks for them.
func filesOf(d object) []string {
	var files []string
	kinds, _ := d["x-kubernetes-group-version-kind"].([]any)
	for _, k := range kinds {
		gvk := k.(object)
		group, _, _ := strings.Cut(gvk["group"].(string), ".")
		name := gvk["kind"].(string) + "-"
		if group != "" {
			name += group + "-"
		}
		files = append(files, strings.ToLower(name+gvk["version"].(string))+".json")
	}
	return files
}

// strict closes objects to unknown fields and opens the two types that are
// described as strings and written as numbers too.
func strict(name string, d object) object {
	switch {
	case strings.HasSuffix(name, ".api.resource.Quantity"), d["format"] == "int-or-string":
		return object{"oneOf": []object{{"type": "string"}, {"type": "number"}}}
	case d["properties"] != nil && d["additionalProperties"] == nil:
		d["additionalProperties"] = false
	}
	return d
}

func write(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

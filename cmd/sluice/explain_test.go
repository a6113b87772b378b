package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/router"
)

// explaining runs sluice explain with a body.
func explaining(body string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = exitCode(explain(process{stdin: strings.NewReader(body), stdout: &out, stderr: &err}, args), &err)
	return code, out.String(), err.String()
}

// explainPolicy has two pools and a tenant, whose key is "secret".
func explainPolicy(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	const content = `
pools:
  large: {model: gemma-large, replicas: ["http://10.0.0.1:8000", "http://10.0.0.2:8000"], cap: {total: 4}, engine: {max_model_len: 8192}}
  small: {model: gemma-small, replicas: ["http://10.0.0.3:8000"], cap: {total: 8}, engine: {max_model_len: 8192}}
routes:
  gemma:
    prefill: {pools: [{pool: large}, {pool: small}]}
    decode: {pools: [{pool: small}]}
tenants:
  team: {key_sha256: [2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b]}
`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func chatFor(model, rest string) string {
	return `{"model": "` + model + `", "messages": [{"role": "user", "content": "Write a poem."}]` + rest + `}`
}

func TestExplain(t *testing.T) {
	file := explainPolicy(t)
	for _, c := range []struct {
		body           string
		args           []string
		code           int
		stdout, stderr string
	}{
		{chatFor("gemma", ""), nil, 0, "replica http://10.0.0.3:8000 of pool small, choice 1, the only one willing", ""},
		{chatFor("gemma", `, "max_tokens": 5`), nil, 0, "class prefill by bound: replica http://10.0.0.1:8000 of pool large, choice 1, least recently used of 2", ""},
		{chatFor("gemma", ""), []string{"--header", "X-Sluice-Class: prefill"}, 0, "class prefill by client", ""},
		{chatFor("gemma-large", ""), nil, 0, "pinned to pool large", ""},
		{chatFor("gemma", `, "max_tokens": 9000`), nil, 0, "refused as too_long", ""},
		{chatFor("gemma", `, "n": 9`), nil, 0, "refused as unsupported: the request needs 9 sequences", ""},
		{`{"model": "gemma", "input": ["a", "b"]}`, []string{"--path", "/v1/embeddings"}, 0, "sequences: 2", ""},
		{`{"model": "gemma", "prompt": "a"}`, []string{"--path", "/tokenize"}, 0, "class other by endpoint", ""},
		{"", nil, 1, "", "sluice: the gateway would answer 400: "},
		{`{"model": "gemma"`, nil, 1, "", "sluice: the gateway would answer 400: "},
		{chatFor("gpt", ""), nil, 1, "", `the gateway would answer 404: the model asked for does not exist, GET /v1/models lists those that do: "gpt"`},
		{chatFor("gemma", ""), []string{"--path", "/v1/nothing"}, 1, "", `the gateway would answer 404: there is no "/v1/nothing" here`},
		{chatFor("gemma", ""), []string{"--path", "/v1/chat/completions?verbose=1"}, 0, "class decode by ratio", ""},
		{chatFor("gemma", ""), []string{"--path", "/v1/models"}, 1, "", "the gateway answers /v1/models itself: there is nothing to decide"},
		{chatFor("gemma", ""), []string{"--header", "x-sluice-class: prefill", "--header", "X-Sluice-Class: decode"}, 2, "", "x-sluice-class is given twice"},
		{chatFor("gemma", ""), []string{"--key", "wrong"}, 1, "", "the gateway would answer 401: this key is not known here"},
		{chatFor("gemma", ""), []string{"--header", "x-sluice-class: huge"}, 1, "", "the gateway would answer 400: x-sluice-class must be prefill or decode"},
	} {
		args := append([]string{"--config", file, "--key", "secret"}, c.args...)
		code, stdout, stderr := explaining(c.body, args...)
		if code != c.code || !says(stdout, c.stdout) || !says(stderr, c.stderr) {
			t.Errorf("%s %q: exit code %d, want %d\nstdout %q, want %q\nstderr %q, want %q", c.body, c.args, code, c.code, stdout, c.stdout, stderr, c.stderr)
		}
	}
}

func TestExplainAsJSON(t *testing.T) {
	code, stdout, stderr := explaining(chatFor("gemma", ""), "--config", explainPolicy(t), "--key", "secret", "--json")
	var rec router.Record
	if err := json.Unmarshal([]byte(stdout), &rec); code != 0 || stderr != "" || err != nil {
		t.Fatalf("exit code %d, error %v\n%s%s", code, err, stdout, stderr)
	}
	if got := router.Replay(&rec); got != rec.Choice || got.Pool != "small" || rec.Request.Tenant != "team" {
		t.Errorf("replayed to %+v: %s", got, stdout)
	}
}

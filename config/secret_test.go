package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecretFromFile(t *testing.T) {
	f := func(content, want, wantErr string) {
		t.Helper()
		name := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Secret{File: name}.Read()
		if got != want || !says(err, wantErr) {
			t.Errorf("content %q: got %q and error %v, want %q and %q", content, got, err, want, wantErr)
		}
		if err != nil && strings.Contains(err.Error(), "sk-1") {
			t.Errorf("the error shows the secret: %v", err)
		}
	}
	f("sk-1", "sk-1", "")
	f("sk-1\n", "sk-1", "")
	f("sk-1\r\n\n", "sk-1", "")
	f("", "", "is empty")
	f("\n", "", "is empty")
	f("sk-1\nsk-2\n", "", "a line end inside")
	f("sk-1 \n", "", "a space")
	f("sk-1é", "", "isn't ASCII")
}

func TestSecretErrorsNameTheSetting(t *testing.T) {
	if _, err := (Secret{File: "/nowhere/key"}).Read(); !says(err, "file: stat /nowhere/key") {
		t.Errorf("missing file: got %v", err)
	}
	t.Setenv("CONFIG_TEST_KEY", "")
	if _, err := (Secret{Env: "CONFIG_TEST_KEY"}).Read(); !says(err, "env: variable CONFIG_TEST_KEY: is empty") {
		t.Errorf("empty variable: got %v", err)
	}
}

func TestSecretFromEnv(t *testing.T) {
	t.Setenv("CONFIG_TEST_KEY", "sk-1")
	if got, err := (Secret{Env: "CONFIG_TEST_KEY"}).Read(); got != "sk-1" || err != nil {
		t.Errorf("got %q and error %v", got, err)
	}
	if got, err := (Secret{}).Read(); got != "" || err != nil || (Secret{}).IsSet() {
		t.Errorf("no secret: got %q and error %v", got, err)
	}
}

// says reports whether err holds the text; "" means that there is no error.
func says(err error, text string) bool {
	if err == nil || text == "" {
		return err == nil && text == ""
	}
	return strings.Contains(err.Error(), text)
}

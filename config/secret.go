package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// IsSet says whether the secret is to be read from anywhere.
func (s Secret) IsSet() bool { return s.File != "" || s.Env != "" }

// Read is the secret's value, without the line end that editors and
// `kubectl create secret` leave; "" when it isn't set. An error begins with the
// setting at fault, "file" or "env", so that a caller can put the path before
// it: fmt.Errorf("pools.%s.api_key.%w", name, err). It never holds the value.
func (s Secret) Read() (string, error) {
	switch {
	case s.File != "":
		value, err := readSecretFile(s.File)
		if err != nil {
			return "", fmt.Errorf("file: %w", err)
		}
		return value, nil
	case s.Env != "":
		value, err := checkSecret(os.Getenv(s.Env))
		if err != nil {
			return "", fmt.Errorf("env: variable %s: %w", s.Env, err)
		}
		return value, nil
	}
	return "", nil
}

func readSecretFile(name string) (string, error) {
	data, err := readFile(name)
	if err != nil {
		return "", err // names the file
	}
	value, err := checkSecret(string(data))
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return value, nil
}

// checkSecret refuses what can't be sent in a header, before a request does.
func checkSecret(raw string) (string, error) {
	value := strings.TrimRight(raw, "\r\n")
	if value == "" {
		return "", errors.New("is empty or not set")
	}
	for _, r := range value {
		if r <= ' ' || r > '~' {
			return "", errors.New("holds a space, a line end inside or a character that isn't ASCII; a key is one word")
		}
	}
	return value, nil
}

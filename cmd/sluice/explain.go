package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"sluice/config"
	"sluice/gateway"
)

const explainHelp = `Usage: sluice explain --config FILE [--path P] [--header "NAME: VALUE"] [--key KEY] [--json] < body.json

Tells how a gateway with this configuration would decide about a request, and why:
its class, what each replica would do for it, and the choice. Nothing is sent. All
replicas are taken to be ready and idle, and nothing has been learned yet; to see
what a running gateway decides, send it the request with "x-sluice-decision: 1".

Flags:
`

// explainFlags are the flags of sluice explain.
type explainFlags struct {
	config, path, key string
	header            headerFlag
	json              bool
}

func explain(p process, args []string) error {
	f := explainFlags{header: headerFlag{}}
	fs := flags("explain")
	fs.StringVar(&f.config, "config", "", "the configuration `FILE`")
	fs.StringVar(&f.path, "path", "/v1/chat/completions", "the path that the request is sent to")
	fs.Var(f.header, "header", "a request `header`, such as \"x-sluice-class: decode\"; may be given several times")
	fs.StringVar(&f.key, "key", "", "the tenant's `KEY`, where the configuration has tenants")
	fs.BoolVar(&f.json, "json", false, "print the record as JSON")
	if err := parse(p, fs, explainHelp, args); err != nil {
		return err
	}
	if f.config == "" {
		return usageError{"explain", "--config FILE is missing"}
	}
	return f.run(p)
}

func (f *explainFlags) run(p process) error {
	cfg, err := config.Load(f.config, os.Environ(), nil)
	if err != nil {
		return configError{err}
	}
	e, err := gateway.NewExplainer(cfg)
	if err != nil {
		return configError{fmt.Errorf("%s: %w", f.config, err)}
	}
	body, err := io.ReadAll(io.LimitReader(p.stdin, int64(cfg.Limits.Body)+1)) // one more: that is too large
	if err != nil {
		return fmt.Errorf("read the body from standard input: %w", err)
	}
	rec, err := e.Explain(time.Now(), gateway.Question{Path: f.path, Header: f.header, Key: f.key, Body: body})
	if err != nil {
		return err
	}
	if f.json {
		out := json.NewEncoder(p.stdout)
		out.SetIndent("", "  ")
		return out.Encode(rec)
	}
	_, err = io.WriteString(p.stdout, rec.Text())
	return err
}

// headerFlag is the headers given with --header, by name in lower case.
type headerFlag map[string]string

// String is nothing: there are no default headers.
func (h headerFlag) String() string { return "" }

// Set takes one in. Of two with one name a gateway hears the first alone.
func (h headerFlag) Set(line string) error {
	name, value, ok := strings.Cut(line, ":")
	if name = strings.ToLower(strings.TrimSpace(name)); !ok || name == "" {
		return errors.New("want \"NAME: VALUE\"")
	}
	if _, given := h[name]; given {
		return fmt.Errorf("%s is given twice", name)
	}
	h[name] = strings.TrimSpace(value)
	return nil
}

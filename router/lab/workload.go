package lab

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"sluice/config"
	"sluice/router"
)

// Workload is what arrives: an open loop of requests of several kinds.
type Workload struct {
	Name      string             `yaml:"-"`     // its file's
	About     string             `yaml:"about"` // one sentence
	Kinds     []Kind             `yaml:"kinds"`
	Bursts    Bursts             `yaml:"bursts"`
	Weights   map[string]float64 `yaml:"weights"` // of tenants; one that isn't named has 1
	Yardstick `yaml:"-"`
}

// Kind is one kind of request.
type Kind struct {
	Name     string        `yaml:"name"`
	Class    string        `yaml:"class"`   // what it truly is: prefill or decode
	Share    float64       `yaml:"share"`   // of the arrivals
	Later    float64       `yaml:"later"`   // its share in the second half; 0: the same
	Prompt   Length        `yaml:"prompt"`  // tokens
	Answer   Length        `yaml:"answer"`  // tokens
	Shifted  Length        `yaml:"shifted"` // of its answers in the second half; median 0: the same
	Bound    int           `yaml:"bound"`   // max_tokens of the request; 0: it has none
	Tenant   string        `yaml:"tenant"`
	Priority string        `yaml:"priority"` // batch: no SLO, and scored apart
	Rate     float64       `yaml:"rate"`     // arrivals per second at any load, steady, instead of a share
	Prefix   Prefix        `yaml:"prefix"`
	TTFT     time.Duration `yaml:"ttft"`        // its SLO; for prefill to the end
	Per1K    time.Duration `yaml:"ttft_per_1k"` // added for each 1,000 prompt tokens
	TPOT     time.Duration `yaml:"tpot"`        // its SLO, per token after the first; 0: none
}

// Length is a distribution of tokens: log-normal round a median, within bounds.
// Spread 0: always the median.
type Length struct {
	Median float64 `yaml:"median"`
	Spread float64 `yaml:"spread"` // standard deviation of the logarithm
	Min    int     `yaml:"min"`    // default 1
	Max    int     `yaml:"max"`    // default 100000
}

// Prefix says how prompts begin alike.
type Prefix struct {
	Groups int `yaml:"groups"` // so many different beginnings; 0: none is shared
	Tokens int `yaml:"tokens"` // of a beginning
	Turns  int `yaml:"turns"`  // a conversation comes back so often, each time longer
}

// Bursts switches the arrival rate between low and high, high being Ratio times
// low, with the same mean as without.
type Bursts struct {
	Ratio float64       `yaml:"ratio"` // 0: steady
	Each  time.Duration `yaml:"each"`  // mean stay in each state
}

//go:embed workloads
var files embed.FS

// Workloads reads the committed workloads, by file name.
func Workloads() ([]*Workload, error) {
	names, err := fs.Glob(files, "workloads/*.yaml")
	if err != nil {
		return nil, err
	}
	measured, err := readYardsticks()
	if err != nil {
		return nil, err
	}
	var all []*Workload
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		w, err := ParseWorkload(strings.TrimSuffix(path.Base(name), ".yaml"), text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		w.Yardstick = measured[w.Name]
		all = append(all, w)
	}
	return all, nil
}

// ParseWorkload reads a workload. The error names the line or the key that is wrong,
// not the file.
func ParseWorkload(name string, text []byte) (*Workload, error) {
	w := &Workload{Name: name}
	if err := decode(text, w); err != nil {
		return nil, err
	}
	return w, w.check()
}

// decode reads YAML strictly: an unknown key is an error.
func decode(text []byte, into any) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	err := d.Decode(into)
	var wrong *yaml.TypeError
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("it is empty")
	case errors.As(err, &wrong):
		lines := make([]string, len(wrong.Errors))
		for i, line := range wrong.Errors {
			lines[i], _, _ = strings.Cut(line, " in type ") // of Go, which is no news to who wrote the file
		}
		return errors.New(strings.Join(lines, "; "))
	}
	return err
}

// check finds what would make no sense, or would never come to an end.
func (w *Workload) check() error {
	if len(w.Kinds) == 0 {
		return errors.New("kinds: none is given")
	}
	for i := range w.Kinds {
		if key, problem := w.Kinds[i].check(); problem != "" {
			return fmt.Errorf("kinds[%d]%s: %s", i, key, problem)
		}
	}
	if b := w.Bursts; b != (Bursts{}) && (!(b.Ratio > 0) || b.Each < time.Millisecond) {
		return fmt.Errorf("bursts: ratio is %v and each is %v, want more than 0 and at least 1ms", b.Ratio, b.Each)
	}
	for tenant, weight := range w.Weights {
		if !(weight > 0) {
			return fmt.Errorf("weights.%s: is %v, want more than 0", tenant, weight)
		}
	}
	return nil
}

// check names the first key that is wrong, and what is; "": none.
func (k *Kind) check() (key, problem string) {
	switch {
	case router.ParseClass(k.Class) == router.ClassNone:
		return ".class", fmt.Sprintf("is %q, want prefill or decode", k.Class)
	case k.Priority != "" && router.ParsePriority(k.Priority) == router.PriorityNone:
		return ".priority", fmt.Sprintf("is %q, want batch or interactive, or nothing", k.Priority)
	case !(k.Share > 0) && !(k.Rate > 0):
		return ".share", fmt.Sprintf("is %v, want more than 0; or a rate", k.Share)
	case k.TTFT <= 0 && !k.batch():
		return ".ttft", fmt.Sprintf("is %v, want more than 0", k.TTFT)
	case k.Prompt.Median < 1 || k.Answer.Median < 1:
		return "", "prompt and answer need a median of at least 1"
	case k.Prompt.Spread < 0 || k.Answer.Spread < 0 || k.Shifted.Spread < 0:
		return "", "a spread is below 0"
	case k.Prefix.Groups < 0 || k.Prefix.Tokens < 0 || k.Prefix.Turns < 0:
		return ".prefix", "groups, tokens and turns can't be below 0"
	}
	return "", ""
}

// batch tells whether the kind is of priority batch.
func (k *Kind) batch() bool { return router.ParsePriority(k.Priority) == router.Batch }

// counted is the name under which the kind is scored.
func (k *Kind) counted() string {
	if k.batch() {
		return router.Batch.String()
	}
	return k.Class
}

// urgent is the workload without its kinds of priority batch.
func (w *Workload) urgent() *Workload {
	o := *w
	o.Kinds = slices.DeleteFunc(slices.Clone(w.Kinds), func(k Kind) bool { return k.batch() })
	return &o
}

// slo is what is promised to the kind.
func (k *Kind) slo() config.SLO {
	return config.SLO{TTFT: k.TTFT, TTFTPer1K: k.Per1K, TPOT: k.TPOT}
}

// class is what the kind truly is.
func (k *Kind) class() router.Class { return router.ParseClass(k.Class) }

// later is its share in the second half.
func (k *Kind) later() float64 {
	if k.Later > 0 {
		return k.Later
	}
	return k.Share
}

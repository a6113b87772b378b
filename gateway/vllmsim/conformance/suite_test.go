package conformance

import (
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
	"sluice/gateway/vllmsim"
)

var (
	address   = flag.String("address", "", "host:port of the server to check; empty: a simulated replica of each release is started")
	model     = flag.String("model", "m", "the served model's name")
	sequences = flag.Int("sequences", 16, "the server's --max-num-seqs")
)

// check is one thing that holds for every server like vLLM.
type check struct {
	name string
	fact string // what the gateway relies on
	run  func(t *testing.T, s *server)
}

func TestConformance(t *testing.T) {
	if *address != "" {
		conform(t, *address)
		return
	}
	for _, release := range vllmsim.Releases() {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel() // each has a server for itself
			conform(t, simulated(t, release))
		})
	}
}

// conform runs the checks, but those that the server is too old for.
func conform(t *testing.T, address string) {
	s := underTest(t, address)
	for _, group := range [][]check{plainChecks, streamChecks, answerChecks, typedChecks, structuredChecks, toolChecks, errorChecks, metricChecks, headerChecks, connectionChecks, queueChecks} {
		for _, c := range group {
			if since := needs[c.name]; s.before(since) {
				t.Logf("%s: needs %s", c.name, since)
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				c.run(t, s)
				if t.Failed() {
					t.Logf("what the gateway relies on: %s", c.fact)
				}
			})
		}
	}
}

// server is what is checked.
type server struct {
	address   string
	model     string
	sequences int    // run at once
	limit     int    // max_model_len, as the server itself says
	release   string // as it says
}

func underTest(t *testing.T, address string) *server {
	s := &server{address: address, model: *model, sequences: *sequences}
	var version struct{ Version string }
	if got := gatewaytest.Get(t, s.address, "/version"); json.Unmarshal(got.Body, &version) != nil {
		t.Fatalf("%s: no version: status %d, %s (%v)", s.address, got.Status, got.Body, got.Err)
	}
	s.release = version.Version
	var list struct {
		Data []struct {
			ID  string `json:"id"`
			Max int    `json:"max_model_len"`
		} `json:"data"`
	}
	got := gatewaytest.Get(t, s.address, "/v1/models")
	if err := json.Unmarshal(got.Body, &list); err != nil || len(list.Data) == 0 {
		t.Fatalf("%s: no list of models: status %d, %s (%v, %v)", s.address, got.Status, got.Body, err, got.Err)
	}
	s.limit = list.Data[0].Max
	return s
}

// simulated starts a simulated replica as small as the real vLLM is in tests.
func simulated(t *testing.T, release vllmsim.Release) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sim := vllmsim.New(vllmsim.Options{
		Model: *model, Size: "gemma-3-4b", MaxModelLen: 2048, MaxNumSeqs: *sequences, Release: release, Logger: slog.New(slog.DiscardHandler),
	})
	served := make(chan error, 1)
	go func() { served <- sim.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		sim.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

// requestID is what the checks send as X-Request-Id.
const requestID = "check-1"

// body puts the model's name into a request.
func (s *server) body(text string) string {
	name, _ := json.Marshal(s.model)
	return strings.ReplaceAll(text, "MODEL", string(name))
}

// post sends a body in which MODEL stands for the model's name.
func (s *server) post(t *testing.T, path, body string, lines ...string) *gatewaytest.Response {
	t.Helper()
	return gatewaytest.Post(t, s.address, path, s.body(body), append(lines, "X-Request-Id: "+requestID)...)
}

// open sends a request on a connection of its own and reads no answer.
func (s *server) open(t *testing.T, path, body string) *gatewaytest.Client {
	t.Helper()
	c := gatewaytest.Connect(t, s.address)
	if err := c.Send(gatewaytest.Request("POST", path, s.body(body))); err != nil {
		t.Fatal(err)
	}
	return c
}

// decode reads a good answer.
func decode[T any](t *testing.T, got *gatewaytest.Response) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(got.Body, &v); err != nil || got.Status != 200 {
		t.Fatalf("status %d, %s (%v, %v)", got.Status, got.Body, err, got.Err)
	}
	return v
}

// varying are the marks of a pattern and what they stand for.
var varying = map[string]string{
	"n":   `[0-9]+`,
	"s":   `"(?:[^"\\]|\\.)*"`, // a JSON string
	"id":  `[-\w]+`,            // the inside of one
	"any": `.*`,
}

// shape compiles a pattern: the bytes as they are, «n», «s», «id» and «any» for
// what varies, and «?bytes» for what some releases leave out.
func shape(pattern string) *regexp.Regexp {
	var b strings.Builder
	for i, piece := range regexp.MustCompile(`«[^»]*»`).Split(pattern, -1) {
		if i > 0 {
			mark, rest, _ := strings.Cut(strings.TrimPrefix(pattern, "«"), "»")
			pattern = rest
			if optional, is := strings.CutPrefix(mark, "?"); is {
				b.WriteString("(?:" + strings.Trim(shape(strings.ReplaceAll(strings.ReplaceAll(optional, "‹", "«"), "›", "»")).String(), "^$") + ")?")
			} else {
				b.WriteString(varying[mark])
			}
		}
		b.WriteString(regexp.QuoteMeta(piece))
		pattern = pattern[len(piece):]
	}
	return regexp.MustCompile("^" + b.String() + "$")
}

// matches checks a text against a pattern in which MODEL is the model's name.
func (s *server) matches(t *testing.T, got, pattern string) {
	t.Helper()
	if !shape(s.body(pattern)).MatchString(got) {
		t.Errorf("got %s\nwant %s", got, s.body(pattern))
	}
}

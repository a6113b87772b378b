package vllmsim

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// web counts requests as the instrumentation of vLLM's web framework does: by
// method, class of status and route, which is "none" where there is no such
// route or not with this method.
type web struct {
	created time.Time

	mu      sync.Mutex // guards the rest
	served  map[webKey]int
	in, out map[string]*sizeSum   // by route
	took    map[webKey]*histogram // the status is empty
	all     histogram
}

type webKey struct{ handler, method, status string }

// sizeSum is a summary without quantiles.
type sizeSum struct {
	count int
	bytes int64
}

func newWeb() *web {
	return &web{
		created: time.Now(), served: map[webKey]int{}, in: map[string]*sizeSum{}, out: map[string]*sizeSum{}, took: map[webKey]*histogram{},
		all: newHistogram([]float64{.01, .025, .05, .075, .1, .25, .5, .75, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 7.5, 10, 30, 60}),
	}
}

// uncounted are the paths that aren't instrumented, wherever they stand in one.
var uncounted = []string{"/metrics", "/health", "/load", "/ping", "/version", "/server_info", faultsPath}

// serve lets mux answer and counts what it answered. A request that the mux
// gives up on counts as well.
func (s *web) serve(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	if slices.ContainsFunc(uncounted, func(path string) bool { return strings.Contains(r.URL.Path, path) }) {
		mux.ServeHTTP(w, r)
		return
	}
	_, route := mux.Handler(r)
	seen := &statusWriter{ResponseWriter: w, status: http.StatusInternalServerError}
	began := time.Now()
	defer func() { s.count(r, route, seen, time.Since(began)) }()
	mux.ServeHTTP(seen, r)
}

func (s *web) count(r *http.Request, route string, seen *statusWriter, took time.Duration) {
	if route == "/" || seen.status == http.StatusMethodNotAllowed {
		route = "none"
	}
	length, _ := strconv.ParseInt(seen.Header().Get("Content-Length"), 10, 64) // a stream has none: 0
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served[webKey{route, r.Method, strconv.Itoa(seen.status/100) + "xx"}]++
	grow(s.in, route, max(r.ContentLength, 0))
	grow(s.out, route, length)
	key := webKey{handler: route, method: r.Method}
	if s.took[key] == nil {
		h := newHistogram([]float64{.1, .5, 1})
		s.took[key] = &h
	}
	s.took[key].add(took.Seconds())
	s.all.add(took.Seconds())
}

func grow(sums map[string]*sizeSum, route string, bytes int64) {
	if sums[route] == nil {
		sums[route] = &sizeSum{}
	}
	sums[route].count++
	sums[route].bytes += bytes
}

// write appends the metrics; a series is there once it has counted something.
func (s *web) write(t *exposition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.common, t.created = nil, s.created
	t.kind("http_requests_total", "counter")
	var lines []series
	for _, k := range sorted(s.served) {
		lines = append(lines, series{labels: k.labels()})
		t.sample("http_requests_total", float64(s.served[k]), k.labels()...)
	}
	t.since("http_requests", lines...)
	t.summary("http_request_size_bytes", s.in)
	t.summary("http_response_size_bytes", s.out)
	t.histogram("http_request_duration_highr_seconds", series{}, &s.all)
	t.kind("http_request_duration_seconds", "histogram")
	lines = nil
	for _, k := range sorted(s.took) {
		lines = append(lines, series{labels: k.labels()})
		t.buckets("http_request_duration_seconds", k.labels(), s.took[k])
	}
	t.since("http_request_duration_seconds", lines...)
}

// summary appends sizes by route.
func (t *exposition) summary(name string, sums map[string]*sizeSum) {
	t.kind(name, "summary")
	var lines []series
	for _, route := range slices.Sorted(maps.Keys(sums)) {
		labels := []label{{"handler", route}}
		lines = append(lines, series{labels: labels})
		t.total(name, labels, sums[route].count, float64(sums[route].bytes))
	}
	t.since(name, lines...)
}

func sorted[V any](m map[webKey]V) []webKey {
	return slices.SortedFunc(maps.Keys(m), func(a, b webKey) int {
		return cmp.Or(cmp.Compare(a.handler, b.handler), cmp.Compare(a.method, b.method), cmp.Compare(a.status, b.status))
	})
}

func (k webKey) labels() []label {
	labels := []label{{"handler", k.handler}, {"method", k.method}}
	if k.status != "" {
		labels = append(labels, label{"status", k.status})
	}
	return labels
}

// statusWriter remembers the status that was sent; 500 where none was.
type statusWriter struct {
	http.ResponseWriter
	status int
	sent   bool
}

// Unwrap lets http.ResponseController flush and hijack.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *statusWriter) WriteHeader(status int) {
	if !w.sent {
		w.status, w.sent = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	if !w.sent {
		w.status, w.sent = http.StatusOK, true
	}
	return w.ResponseWriter.Write(p)
}

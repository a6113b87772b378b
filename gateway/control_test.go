package gateway

import (
	"context"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
)

// TestWhoMayControl is the guard: token, address, Host and Origin.
func TestWhoMayControl(t *testing.T) {
	const loopback, open = "127.0.0.1:8082", "10.0.0.5:8082"
	for _, c := range []struct {
		name, token, local, host, auth, origin string
		want                                   int
	}{
		{"loopback", "", loopback, "127.0.0.1:8082", "", "", 200},
		{"localhost", "", loopback, "LocalHost:8082", "", "", 200},
		{"IPv6 loopback", "", "[::1]:8082", "[::1]:8082", "", "", 200},
		{"IPv4 in IPv6", "", "[::ffff:127.0.0.1]:8082", "127.0.0.1", "", "", 200},
		{"a name that was made to point here", "", loopback, "evil.example:8082", "", "", 403},
		{"a name that begins like one", "", loopback, "localhost.evil.example", "", "", 403},
		{"no host", "", loopback, "", "", "", 403},
		{"its own page", "", loopback, "localhost:8082", "", "http://localhost:8082", 200},
		{"another page", "", loopback, "localhost:8082", "", "http://evil.example", 403},
		{"another port's page", "", loopback, "localhost:8082", "", "http://localhost:3000", 403},
		{"a page without an origin", "", loopback, "localhost:8082", "", "null", 403},
		{"another machine without a token", "", open, "localhost:8082", "", "", 403},
		{"another machine, its name", "", open, "10.0.0.5:8082", "", "", 403},
		{"token", "s3cret", open, "gateway:8082", "Bearer s3cret", "", 200},
		{"token, scheme in lower case", "s3cret", open, "gateway:8082", "bearer s3cret", "", 200},
		{"wrong token", "s3cret", open, "gateway:8082", "Bearer s3cre", "", 401},
		{"no token", "s3cret", loopback, "localhost:8082", "", "", 401},
		{"token without a scheme", "s3cret", loopback, "localhost:8082", "s3cret", "", 401},
		{"token of another scheme", "s3cret", loopback, "localhost:8082", "Basic s3cret", "", 401},
		{"token, another page", "s3cret", open, "gateway:8082", "Bearer s3cret", "http://evil.example", 403},
	} {
		local, err := net.ResolveTCPAddr("tcp", c.local)
		if err != nil {
			t.Fatal(err)
		}
		next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
		req := httptest.NewRequest("GET", "/", nil)
		req = req.WithContext(context.WithValue(req.Context(), http.LocalAddrContextKey, net.Addr(local)))
		req.Host = c.host
		for name, value := range map[string]string{"Authorization": c.auth, "Origin": c.origin} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		guard(next, func() string { return c.token }).ServeHTTP(w, req)
		if w.Code != c.want {
			t.Errorf("%s: %d, want %d (%s)", c.name, w.Code, c.want, w.Body)
		}
		if w.Code == 401 && w.Header().Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: no WWW-Authenticate", c.name)
		}
	}
}

// TestWhatPagesEmbed: <img src="http://localhost:8082/debug/pprof/profile"> of any
// page would have the gateway profile itself; it names no origin.
func TestWhatPagesEmbed(t *testing.T) {
	r := start(t, onePool(4, gatewaytest.NewReplica(t)))
	f := func(want int, lines ...string) {
		t.Helper()
		if got := ask(t, r.control, "GET", "/api/state", lines...); got.Status != want {
			t.Errorf("%v: %d, want %d", lines, got.Status, want)
		}
	}
	f(403, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: image")
	f(403, "Sec-Fetch-Site: same-site", "Sec-Fetch-Dest: iframe") // another port of this machine
	f(200, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: document")
	f(200, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Dest: image")
	f(200, "Sec-Fetch-Site: none", "Sec-Fetch-Dest: document")
}

// ask sends a request to a side listener, as curl on the same machine does.
func ask(t *testing.T, address, method, path string, lines ...string) *gatewaytest.Response {
	t.Helper()
	raw := method + " " + path + " HTTP/1.1\r\nHost: " + address + "\r\nContent-Length: 0\r\n" + strings.Join(append(lines, ""), "\r\n") + "\r\n"
	answer := gatewaytest.Target{Address: address}.Fetch(t, raw)
	if answer.Err != nil {
		t.Fatalf("%s %s: %v", method, path, answer.Err)
	}
	return answer
}

// TestWhatIsThere on the control and the ops listener, and what isn't.
func TestWhatIsThere(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	r := start(t, onePool(2, rep))
	for _, c := range []struct {
		address, method, path string
		status                int
		kind, holds           string
	}{
		{r.control, "GET", "/", 200, "text/plain; charset=utf-8", "POST /-/reload"},
		{r.control, "GET", "/api/state", 200, "application/json", rep.URL()},
		{r.control, "GET", "/debug/pprof/", 200, "text/html; charset=utf-8", "goroutine"},
		{r.control, "GET", "/debug/pprof/heap?debug=1", 200, "text/plain; charset=utf-8", "heap profile"},
		{r.control, "GET", "/debug/pprof/goroutine?debug=1", 200, "text/plain; charset=utf-8", "goroutine profile"},
		{r.control, "GET", "/debug/pprof/cmdline", 200, "text/plain; charset=utf-8", "test"},
		{r.control, "GET", "/debug/pprof/symbol", 200, "text/plain; charset=utf-8", "num_symbols"},
		{r.control, "POST", "/debug/pprof/symbol", 200, "text/plain; charset=utf-8", "num_symbols"},
		{r.control, "POST", "/-/reload", 501, "application/json", "without a configuration file"},
		{r.control, "GET", "/-/reload", 405, "text/plain; charset=utf-8", ""},
		{r.control, "POST", "/api/state", 405, "text/plain; charset=utf-8", ""},
		{r.control, "GET", "/metrics", 404, "text/plain; charset=utf-8", ""},
		{r.control, "GET", "/v1/models", 404, "text/plain; charset=utf-8", ""},
		{r.ops, "GET", "/healthz", 200, "text/plain; charset=utf-8", "ok"},
		{r.ops, "GET", "/readyz", 200, "text/plain; charset=utf-8", "ready"},
		{r.ops, "POST", "/readyz", 405, "text/plain; charset=utf-8", ""},
		{r.ops, "GET", "/api/state", 404, "text/plain; charset=utf-8", ""},
		{r.ops, "GET", "/debug/pprof/", 404, "text/plain; charset=utf-8", ""},
		{r.ops, "POST", "/-/reload", 404, "text/plain; charset=utf-8", ""},
		{r.data, "GET", "/metrics", 404, "application/json", ""},
		{r.data, "GET", "/api/state", 404, "application/json", ""},
	} {
		answer := ask(t, c.address, c.method, c.path)
		if kind := answer.Header.Get("Content-Type"); answer.Status != c.status || kind != c.kind || !strings.Contains(string(answer.Body), c.holds) {
			t.Errorf("%s %s: %d %s %.200s; want %d %s with %q", c.method, c.path, answer.Status, kind, answer.Body, c.status, c.kind, c.holds)
		}
		if answer.Status == 405 && answer.Header.Get("Allow") == "" {
			t.Errorf("%s %s: 405 without Allow", c.method, c.path)
		}
	}
}

// TestMetricsInEachFormat that scrapers ask for.
func TestMetricsInEachFormat(t *testing.T) {
	rep := gatewaytest.NewReplica(t, shortAnswer...)
	r := start(t, onePool(2, rep))
	r.post(gatewaytest.ChatBody("m", "hi", false))
	for accept, want := range map[string]string{
		"":                             "text/plain; version=0.0.4",
		"text/plain; version=0.0.4":    "text/plain; version=0.0.4",
		"application/openmetrics-text": "application/openmetrics-text; version=",
		"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited": "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited",
	} {
		var lines []string
		if accept != "" {
			lines = []string{"Accept: " + accept}
		}
		answer := ask(t, r.ops, "GET", "/metrics", lines...)
		if got := answer.Header.Get("Content-Type"); answer.Status != 200 || !strings.HasPrefix(got, want) || !strings.Contains(string(answer.Body), "sluice_requests_received") {
			t.Errorf("Accept %q: status %d, %s, %d bytes; want %s", accept, answer.Status, got, len(answer.Body), want)
		}
		if strings.Contains(want, "openmetrics") && !strings.HasSuffix(string(answer.Body), "# EOF\n") {
			t.Error("OpenMetrics without its end")
		}
	}
}

// TestReadiness follows the replicas; liveness doesn't.
func TestReadiness(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	r := start(t, onePool(2, rep))
	is := func(status int, why string) func() bool {
		return func() bool {
			got, said := r.readiness()
			return got == status && strings.HasPrefix(said, why)
		}
	}
	eventually(t, "ready with a ready replica", is(200, "ready"))
	rep.On("/health", gatewaytest.Send(gatewaytest.Head(503, "content-length: 0")))
	eventually(t, "not ready without", is(503, "no replica is ready"))
	if answer := ask(t, r.ops, "GET", "/healthz"); answer.Status != 200 {
		t.Errorf("/healthz is %d without a ready replica, want 200: a restart would cure nothing", answer.Status)
	}
	rep.On("/health", gatewaytest.Send(gatewaytest.Head(200, "content-length: 0")))
	eventually(t, "ready again", is(200, "ready"))
}

// TestTheStateKeepsItsShape: scripts read it.
func TestTheStateKeepsItsShape(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	r := start(t, onePool(2, rep))
	var state any
	if err := json.Unmarshal(ask(t, r.control, "GET", "/api/state").Body, &state); err != nil {
		t.Fatal(err)
	}
	shape := map[string]bool{}
	shapeOf("", state, shape)
	want := strings.Fields(`
		at foreseen pools pools[].name pools[].replicas
		pools[].replicas[].active pools[].replicas[].active.decode pools[].replicas[].active.prefill
		pools[].replicas[].address pools[].replicas[].admits pools[].replicas[].busy pools[].replicas[].cap
		pools[].replicas[].closing pools[].replicas[].closing.decode pools[].replicas[].closing.prefill
		pools[].replicas[].granted pools[].replicas[].listed
		pools[].replicas[].load pools[].replicas[].load.at pools[].replicas[].load.kv_sum pools[].replicas[].load.kv_usage
		pools[].replicas[].load.running pools[].replicas[].load.steps pools[].replicas[].load.tells_steps
		pools[].replicas[].load.tokens pools[].replicas[].load.waiting
		pools[].replicas[].stalled pools[].replicas[].state
		pools[].replicas[].target pools[].replicas[].target.decode pools[].replicas[].target.prefill
		pools[].replicas[].unexplained pools[].replicas[].work
		queues queues[].bytes queues[].class queues[].oldest queues[].pool queues[].priority queues[].rate queues[].route queues[].waiting
		retries_left
		routes routes[].class routes[].pool routes[].route routes[].service routes[].tokens_out
		w`)
	if got := slices.Sorted(maps.Keys(shape)); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, " "), strings.Join(want, " "))
	}
}

// shapeOf collects the paths of all members.
func shapeOf(path string, v any, shape map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			at := strings.TrimPrefix(path+"."+name, ".")
			shape[at] = true
			shapeOf(at, member, shape)
		}
	case []any:
		for _, element := range v {
			shapeOf(path+"[]", element, shape)
		}
	}
}

// TestTheTokenFollowsItsFile, and its loss doesn't open the door.
func TestTheTokenFollowsItsFile(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	token := filepath.Join(t.TempDir(), "token")
	set := func(value string) {
		t.Helper()
		if err := os.WriteFile(token, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set("old\n")
	content := strings.Replace(loopbackDoors, `control: {address: "127.0.0.1:0"}`, `control: {address: "127.0.0.1:0", token: {file: `+token+`}}`, 1) + onePool(2, rep)
	r := startFile(t, "pools: {x: {model: x, replicas: ["+rep.URL()+"]}}\nroutes: {m: {class: decode, decode: {pools: [{pool: x}]}}}\n")
	r.writeRaw(content)
	status := func(bearer string) int {
		t.Helper()
		return ask(t, r.control, "POST", "/-/reload", "Authorization: Bearer "+bearer).Status
	}
	for _, step := range []struct {
		token, bearer string
		want          int
	}{
		{"old\n", "any", 200}, // in force after this reload
		{"new\n", "wrong", 401},
		{"new\n", "old", 200},
		{"new\n", "old", 401},
		{"two words", "new", 422},
		{"two words", "new", 422}, // the last good one is asked for still
	} {
		set(step.token)
		if got := status(step.bearer); got != step.want {
			t.Errorf("%+v: got %d", step, got)
		}
	}
}

package gateway

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// names are served names as people give them: whatever config allows.
var names = []string{"org/name-8b", "name:latest", "50%+1", "a/b/c?d#e", strings.Repeat("n", 200)}

// namesPolicy has a pool with one replica for each name, and an alias of the first.
func namesPolicy(replicas []*gatewaytest.Replica) string {
	var pools strings.Builder
	for i, name := range names {
		fmt.Fprintf(&pools, "  p%d: {model: %q, replicas: [%s], engine: {max_model_len: %d}}\n", i, name, replicas[i].URL(), 1000+i)
	}
	return "pools:\n" + pools.String() + `
routes:
  fast: {prefill: {pools: [{pool: p0}]}, decode: {pools: [{pool: p0}]}}
health: {interval: 20ms}
`
}

// namedReplicas answer with a text that speaks of their model by name.
func namedReplicas(t *testing.T) []*gatewaytest.Replica {
	replicas := make([]*gatewaytest.Replica, len(names))
	for i := range replicas {
		replicas[i] = gatewaytest.NewReplica(t)
	}
	return replicas
}

// tells is what a replica says: its own name, in the field and in the text. In a
// stream the field is cut in two.
func tells(name string, stream bool) (script gatewaytest.Script, body string) {
	quoted, _ := json.Marshal(name) // a string always has a JSON form
	if !stream {
		whole := strings.Replace(wholeBody(name+" fast"), `"model":"m"`, `"model":`+string(quoted), 1)
		return gatewaytest.Script{gatewaytest.Send(gatewaytest.JSON(200, whole))}, whole
	}
	body = strings.ReplaceAll(strings.Join(gatewaytest.ChatEvents(name, " fast"), ""), `"model":"m"`, `"model":`+string(quoted))
	cut := strings.Index(body, `"model":`) + len(`"model":"`)
	return gatewaytest.Script{gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(body[:cut], body[cut:]), gatewaytest.Send(gatewaytest.FinalChunk)}, body
}

// A request by any name goes to the pool that serves it, under the served name;
// the answer, streamed or not, says the served name throughout and is untouched.
func TestModelNames(t *testing.T) {
	replicas := namedReplicas(t)
	r := start(t, namesPolicy(replicas))
	asked := 0
	for _, name := range append([]string{"fast"}, names...) {
		i := max(slices.Index(names, name), 0) // fast is the first one's
		for _, stream := range []bool{false, true} {
			script, want := tells(names[i], stream)
			replicas[i].Next(script...)
			before := len(replicas[i].Calls())
			answer := r.post(gatewaytest.ChatBody(name, name+" org/name-8b", stream))
			if answer.Status != 200 || string(answer.Body) != want {
				t.Errorf("%q, stream %v: status %d, got\n%s\nwant\n%s", name, stream, answer.Status, answer.Body, want)
				continue
			}
			var body struct{ Model string }
			if err := json.Unmarshal(replicas[i].Call(before).Body, &body); err != nil || body.Model != names[i] {
				t.Errorf("%q: the replica was asked for %q, %v", name, body.Model, err)
			}
			asked++
		}
	}
	r.quiet()
	if n := r.outcomes(router.Completed); n != asked {
		t.Errorf("completed %d, want %d", n, asked)
	}
}

// The list has every name that can be called, once, in order, also while a
// replica is down; each of them can be fetched back by its path, encoded or not.
func TestModelList(t *testing.T) {
	replicas := namedReplicas(t)
	r := start(t, namesPolicy(replicas))
	replicas[0].Crash()
	eventually(t, "one replica is down", func() bool { return r.ready() == len(names)-1 })
	var list struct {
		Object string
		Data   []json.RawMessage
	}
	answer := gatewaytest.Get(t, r.data, "/v1/models")
	if err := json.Unmarshal(answer.Body, &list); err != nil || answer.Status != 200 || list.Object != "list" {
		t.Fatalf("status %d: %s", answer.Status, answer.Body)
	}
	var ids []string
	for _, raw := range list.Data {
		var entry struct {
			ID     string
			Object string
			Max    int `json:"max_model_len"`
		}
		if err := json.Unmarshal(raw, &entry); err != nil || entry.Object != "model" || entry.Max < 1000 {
			t.Errorf("%s: %v", raw, err)
		}
		ids = append(ids, entry.ID)
		checkFetched(t, r, entry.ID, string(raw))
	}
	want := append([]string{"fast"}, names...)
	slices.Sort(want)
	if !slices.Equal(ids, want) {
		t.Errorf("listed %q, want %q", ids, want)
	}
	if again := gatewaytest.Get(t, r.data, "/v1/models"); string(again.Body) != string(answer.Body) {
		t.Errorf("the second list differs: %s", again.Body)
	}
}

// checkFetched fetches one model by its path.
func checkFetched(t *testing.T, r *rig, id, want string) {
	t.Helper()
	paths := []string{url.PathEscape(id), strings.ReplaceAll(url.PathEscape(id), "%2F", "/")}
	for _, path := range paths {
		answer := gatewaytest.Get(t, r.data, "/v1/models/"+path)
		if answer.Status != 200 || string(answer.Body) != want {
			t.Errorf("GET /v1/models/%s: status %d: %s", path, answer.Status, answer.Body)
		}
	}
}

// A name that nobody serves is a 404 in the API's words, and costs no replica anything.
func TestUnknownModel(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	r := start(t, onePool(1, rep))
	for name, answer := range map[string]*gatewaytest.Response{
		"chat":   r.post(gatewaytest.ChatBody("gpt-4", "hi", true)),
		"models": gatewaytest.Get(t, r.data, "/v1/models/org/other"),
		"case":   r.post(gatewaytest.ChatBody("M", "hi", false)),
	} {
		var body struct {
			Error struct{ Code, Type, Param string }
		}
		if err := json.Unmarshal(answer.Body, &body); err != nil || answer.Status != 404 || body.Error.Code != "model_not_found" || body.Error.Param != "model" {
			t.Errorf("%s: status %d: %s", name, answer.Status, answer.Body)
		}
	}
	if n := len(rep.Calls()); n != 0 {
		t.Errorf("the replica got %d calls", n)
	}
	r.quiet()
}

package gateway

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// nested is an array in an array …, n deep.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// Bodies that nobody honest sends: an answer at once, in the endpoint's shape,
// and never a failure of the gateway's.
func TestHostileBodies(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("x", "stop", 1, 1)))
	r := start(t, onePool(4, rep))
	within := func(member, value string) string {
		members := map[string]string{"messages": `[{"role":"user","content":"hi"}]`, member: value}
		body := `{"model":"m"`
		for name, value := range members {
			body += fmt.Sprintf(",%q:%s", name, value)
		}
		return body + "}"
	}
	refused := map[string]string{
		"empty": "", "null": "null", "an array": "[]", "a string": `"x"`, "no model": "{}", "a number": "5",
		"model null": `{"model":null}`, "model a number": `{"model":5}`, "model twice": `{"model":"m","model":"m"}`,
		"truncated": `{"model":"m","messages":[{"role":"us`, "five MB of spaces": strings.Repeat(" ", 5<<20),
		"two values": plainBody + plainBody, "text behind": plainBody + "x", "a form": "model=m&messages=hi",
		"no UTF-8": strings.Replace(plainBody, "hi", "h\xff", 1), "a control character": strings.Replace(plainBody, "hi", "h\x01", 1),
		"unknown field 201 deep":    within("unknown", nested(200)),
		"unknown field 10,000 deep": within("unknown", nested(10_000)), "tools 10,000 deep": within("tools", nested(10_000)),
		"unknown field 1,000,000 deep": within("unknown", nested(1_000_000)), "content 1,000,000 deep": within("messages", `[{"role":"user","content":`+nested(1_000_000)+"}]"),
		"half of a million brackets": `{"model":"m","messages":` + strings.Repeat("[", 1_000_000),
	}
	for name, body := range refused {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			answer := r.post(body)
			if answer.Status != 400 || !strings.HasPrefix(string(answer.Body), openAIError) || answer.Ending != gatewaytest.Whole {
				t.Errorf("answer %d: %s", answer.Status, answer.Body)
			}
			if took := time.Since(began); took > 5*time.Second { // 500 ms, on a machine that has nothing else to do
				t.Errorf("it took %v", took)
			}
		})
	}
	if calls := rep.Calls(); len(calls) != 0 {
		t.Errorf("the replica got %.200q", calls[0].Body)
	}
	// Shapes are the replica's to judge.
	passed := []string{within("unknown", nested(199)), within("tools", nested(199)), `{"model":"m"}`} // limits.json_depth=200 with the body's own
	for _, messages := range []string{"[]", "null", "5", "[null]", "[{}]", `[{"role":"user"}]`, `[{"role":"user","content":` + nested(197) + "}]", `{"a":1}`, `"x"`} {
		passed = append(passed, within("messages", messages))
	}
	for i, body := range passed {
		if answer := r.post(body); answer.Status != 200 {
			t.Errorf("answer %d to %.60s: %s", answer.Status, body, answer.Body)
			continue
		}
		if got, want := string(rep.Calls()[i].Body), strings.Replace(body, `"m"`, `"served"`, 1); got != want {
			t.Errorf("the replica got %.100s, want %.100s", got, want)
		}
	}
	r.quiet()
	if n := r.outcomes(router.Invalid); n != len(refused) {
		t.Errorf("%d are invalid, want %d", n, len(refused))
	}
}

// What a body is called says nothing of what it is.
func TestContentTypes(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("x", "stop", 1, 1)))
	r := start(t, onePool(4, rep)+"relay: {extra_paths: [/v1/audio/transcriptions]}\n")
	form := "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n--b--\r\n"
	for _, test := range []struct {
		kind, path, body string
		status           int
	}{
		{"", "/v1/chat/completions", plainBody, 200},
		{"application/json; charset=utf-8", "/v1/chat/completions", plainBody, 200},
		{"application/x-www-form-urlencoded", "/v1/chat/completions", plainBody, 200},
		{"multipart/form-data; boundary=b", "/v1/chat/completions", plainBody, 200}, // not taken apart, as fasthttp would
		{"multipart/form-data; boundary=b", "/v1/chat/completions", form, 400},
		{"multipart/form-data; boundary=b", "/v1/audio/translations", form, 404},
		{"multipart/form-data; boundary=b", "/v1/audio/transcriptions", form, 400}, // relay.extra_paths too need a model in JSON
		{"application/json", "/v1/audio/transcriptions", `{"x":1}`, 400},
		{"application/json", "/v1/audio/transcriptions", `{"model":"m","x":1}`, 200},
	} {
		line := ""
		if test.kind != "" {
			line = "Content-Type: " + test.kind + "\r\n"
		}
		raw := strings.Replace(chat(line+fmt.Sprintf("Content-Length: %d\r\n", len(test.body)), test.body), "/v1/chat/completions", test.path, 1)
		if answer := (gatewaytest.Target{Address: r.data}).Fetch(t, raw); answer.Status != test.status {
			t.Errorf("%+v: answer %d: %s", test, answer.Status, answer.Body)
		}
	}
	r.quiet()
}

// Compressed bodies can't be counted, so they are refused as what they are.
func TestCompressedRequests(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("x", "stop", 1, 1)))
	r := start(t, onePool(4, rep))
	var zipped, bomb bytes.Buffer
	for buf, text := range map[*bytes.Buffer]string{&zipped: plainBody, &bomb: strings.Repeat("[", 4<<20)} {
		w := gzip.NewWriter(buf)
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, coding := range []string{"gzip", "deflate", "br", "zstd", "GZIP", "gzip, identity"} {
		for _, body := range []string{zipped.String(), bomb.String(), plainBody} {
			answer := r.post(body, "Content-Encoding: "+coding)
			if answer.Status != 415 || !strings.Contains(string(answer.Body), "compressed") || answer.Ending != gatewaytest.Whole {
				t.Errorf("%s: answer %d: %s", coding, answer.Status, answer.Body)
			}
		}
	}
	if answer := r.post(plainBody, "Content-Encoding: identity", "Accept-Encoding: gzip, br, zstd"); answer.Status != 200 {
		t.Errorf("identity: answer %d: %s", answer.Status, answer.Body)
	}
	call := rep.Call(0)
	if got := call.Header.Values("Accept-Encoding"); len(got) != 1 || got[0] != "identity" || call.Header.Get("Content-Encoding") != "" {
		t.Errorf("the replica was asked for %q", got)
	}
	// A replica that compresses all the same: header and bytes agree.
	rep.Script(gatewaytest.Send(gatewaytest.Head(400, "content-type: application/json", "content-encoding: gzip", fmt.Sprint("content-length: ", zipped.Len())) + zipped.String()))
	answer := r.post(plainBody)
	if answer.Status != 400 || answer.Header.Get("Content-Encoding") != "gzip" || !bytes.Equal(answer.Body, zipped.Bytes()) {
		t.Errorf("a compressed error: answer %d, %q, %d bytes", answer.Status, answer.Header.Get("Content-Encoding"), len(answer.Body))
	}
	r.quiet()
}

// Large bodies: whole up to the limit, and above it an answer that a client can
// read while it is still sending.
func TestBodySizes(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("x", "stop", 1, 1)))
	r := start(t, onePool(64, rep)+"limits: {body: 1MiB}\n")
	image := func(size int) string {
		const before = `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"input_audio"},{"type":"what"},{"type":"image_url","image_url":{"url":"data:image/png;base64,`
		const after = `"}}]},{"role":"user","content":[]}]}`
		return before + strings.Repeat("A", size-len(before)-len(after)) + after
	}
	var all sync.WaitGroup
	for _, size := range []int{1 << 10, limit - 1, limit, limit + 1, limit + 300<<10, 3 * limit, 10 * limit} {
		for _, framing := range []string{"declared", "chunked"} {
			c := gatewaytest.Connect(t, r.data)
			all.Go(func() {
				body, raw := image(size), ""
				switch framing {
				case "declared":
					raw = gatewaytest.Request("POST", "/v1/chat/completions", body)
				default:
					raw = chat(coded, gatewaytest.Chunk(body[:1000])+gatewaytest.Chunk(body[1000:])+gatewaytest.FinalChunk)
				}
				want := 200
				if size > limit {
					want = 413
				}
				sent := c.Send(raw)
				answer, err := c.ReadAnswer()
				if err != nil || answer.Status != want || answer.Ending != gatewaytest.Whole || want == 413 && !strings.Contains(string(answer.Body), "limits.body=") {
					t.Errorf("%d bytes, %s: answer %v, %v", size, framing, answer, err)
				}
				if sent != nil && size <= 3*limit { // many clients look for an answer only when they have sent all
					t.Errorf("%d bytes, %s: sending failed: %v", size, framing, sent)
				}
			})
		}
	}
	all.Wait()
	sums := make(map[string]int)
	for _, call := range rep.Calls() {
		sums[string(call.Body)]++
	}
	for _, size := range []int{1 << 10, limit - 1, limit} {
		if n := sums[strings.Replace(image(size), `"m"`, `"served"`, 1)]; n != 2 {
			t.Errorf("the replica got the body of %d bytes %d times, want 2", size, n)
		}
	}
	if n := len(rep.Calls()); n != 6 {
		t.Errorf("the replica got %d requests, want 6", n)
	}
	r.quiet()
}

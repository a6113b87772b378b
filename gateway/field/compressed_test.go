package field

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

// zipped is text as gzip; deflated as deflate.
func zipped(t *testing.T, text string) string {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	pack(t, w, text)
	return buf.String()
}

func deflated(t *testing.T, text string) string {
	t.Helper()
	var buf bytes.Buffer
	w, err := flate.NewWriter(&buf, flate.DefaultCompression)
	if err != nil {
		t.Fatal(err)
	}
	pack(t, w, text)
	return buf.String()
}

func pack(t *testing.T, w io.WriteCloser, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCompressedTraffic: prompts have to be counted and answers judged, so neither
// may be compressed. A request that is hears what it is, however much it would
// become; a replica is asked not to, and one that does all the same is never passed
// off as an answer. Where nothing has to be judged, header and bytes agree.
func TestCompressedTraffic(t *testing.T) {
	t.Parallel()
	b := newBench(t, gt.ChatStream("a", "b")...)
	b.health["failures_open"] = "100"
	r := b.start(t)
	refused := 0
	for coding, body := range map[string]string{
		"gzip": zipped(t, streamed), "GZIP": zipped(t, streamed), "deflate": deflated(t, streamed), "br": "\x0b\x02\x80{}\x03", "zstd": "\x28\xb5\x2f\xfd",
		"gzip, identity": zipped(t, streamed), "x-gzip": streamed, "compress": streamed,
		"gzip ": strings.Repeat(zipped(t, strings.Repeat(" ", 1<<20)), 64), // 64 KiB that would be 64 MiB
	} {
		answer := r.post(body, "Content-Encoding: "+coding)
		if answer.Status != 415 || answer.Header.Get("Content-Type") != "application/json" || !strings.Contains(string(answer.Body), `"unsupported_encoding"`) {
			t.Errorf("%s: status %d: %s", coding, answer.Status, answer.Body)
		}
		refused++
	}
	for _, coding := range []string{"identity", "Identity"} {
		if answer := r.post(streamed, "Content-Encoding: "+coding, "Accept-Encoding: gzip, br, zstd"); answer.Status != 200 || answer.Ending != gt.Whole {
			t.Errorf("%s: status %d, %v", coding, answer.Status, answer.Ending)
		}
	}
	for _, rep := range b.all() {
		for _, call := range rep.Calls() {
			if got := call.Header.Values("Accept-Encoding"); len(got) != 1 || got[0] != "identity" || call.Header.Get("Content-Encoding") != "" {
				t.Errorf("the replica was asked for %q, of a body in %q", got, call.Header.Get("Content-Encoding"))
			}
		}
	}
	for name, script := range map[string]gt.Script{
		"JSON in gzip":   {gt.Send(answerIn("gzip", zipped(t, gt.ChatAnswer("a", "stop", 1, 1))))},
		"JSON in br":     {gt.Send(answerIn("br", "\x0b\x02\x80{}\x03"))},
		"events in gzip": {gt.Send(gt.Head(200, "content-type: text/event-stream", "content-encoding: gzip", "transfer-encoding: chunked")), gt.Chunks(flushed(t, gt.ChatEvents("a", "b"))...), gt.Send(gt.FinalChunk)},
	} {
		b.script(script...)
		answer := r.post(streamed)
		if answer.Status != 502 || answer.Header.Get("Content-Encoding") != "" || !strings.Contains(string(answer.Body), "Accept-Encoding: identity") ||
			answer.Header.Get("x-should-retry") != "false" { // it has run
			t.Errorf("%s: status %d, %q: %.300q", name, answer.Status, answer.Header, answer.Body)
		}
	}
	sorry := zipped(t, gt.Error(400, "BadRequestError", "no"))
	b.script(gt.Send(strings.Replace(answerIn("gzip", sorry), "200 OK", "400 Bad Request", 1)))
	if answer := r.post(streamed); answer.Status != 400 || answer.Header.Get("Content-Encoding") != "gzip" || string(answer.Body) != sorry {
		t.Errorf("a compressed error: status %d, %q, %d bytes", answer.Status, answer.Header.Get("Content-Encoding"), len(answer.Body))
	}
	r.ended(map[router.Outcome]int{router.Unsupported: refused, router.Completed: 2, router.ReplicaError: 3, router.ClientError: 1})
	r.zero(b.all()...)
}

func answerIn(coding, body string) string {
	return gt.Head(200, "content-type: application/json", "content-encoding: "+coding, fmt.Sprint("content-length: ", len(body))) + body
}

// flushed is a gzip stream of events, flushed after each.
func flushed(t *testing.T, events []string) (pieces []string) {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	for _, event := range events {
		if _, err := io.WriteString(w, event); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, buf.String())
		buf.Reset()
	}
	return pieces
}

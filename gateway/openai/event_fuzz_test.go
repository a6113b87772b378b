package openai

import (
	"bytes"
	"encoding/json"
	"encoding/json/jsontext"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// FuzzWalk checks three things of any stream on any endpoint: however it is cut,
// the events are the same and add up to the bytes; they are those that the SSE
// standard's own recipe finds; and each is classified as a plain decoding of its
// JSON says.
func FuzzWalk(f *testing.F) {
	files, err := os.ReadDir("testdata/events")
	if err != nil {
		f.Fatal(err)
	}
	for i, file := range files {
		if name, ok := strings.CutSuffix(file.Name(), ".sse"); ok {
			f.Add(golden(f, name), uint8(endpointOfFile(name)-Chat), uint8(i))
		}
	}
	f.Add([]byte("data: {\"choices\":[{\"index\":1,\"text\":\"a\"},{\"finish_reason\":\"stop\"}],\"usage\":{\"total_tokens\":3}}\r\r\n\n"), uint8(1), uint8(3))
	f.Add([]byte("data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: {\"choices\":[{\"text\":\"b\\\"c\"}]}\n\ndata: {\"choices\":[{\"text\":\"b\"},{\"text\":\"c\"}]}\n\n"), uint8(1), uint8(9))
	f.Add([]byte("data:{\"error\":{0\n\n"), uint8(2), uint8(10))
	f.Fuzz(func(t *testing.T, stream []byte, endpoint, size uint8) {
		e := Chat + Endpoint(endpoint%4)
		whole := NewWalker(e, 0, true)
		words, joined, rest := walkAll(whole, stream, len(stream)+1)
		if !bytes.Equal(append(joined, rest...), stream) {
			t.Fatal("the events don't add up to the stream")
		}
		pieces := NewWalker(e, 0, true)
		if again, _, _ := walkAll(pieces, stream, int(size)+1); !slices.Equal(again, words) {
			t.Errorf("in pieces of %d: got %q, in one piece %q", int(size)+1, again, words)
		}
		if pieces.Ending() != whole.Ending() || pieces.usage != whole.usage {
			t.Errorf("in pieces of %d: got %+v, in one piece %+v", int(size)+1, pieces, whole)
		}
		compare(t, e, stream)
	})
}

// compare walks the stream again, event by event beside the reference.
func compare(t *testing.T, e Endpoint, stream []byte) {
	w, ref := NewWalker(e, 0, true), newReference(e)
	want := referenceEvents(string(stream))
	for buf := stream; ; {
		ev := w.Next(buf)
		if ev.Raw == nil {
			break
		}
		buf = buf[len(ev.Raw):]
		if len(ev.Data) == 0 {
			continue
		}
		if len(want) == 0 || string(ev.Data) != want[0].data {
			t.Fatalf("got event %q, want %q", ev.Data, want)
		}
		if !readable(ev.Data) {
			return // decoders differ on it (a duplicate name, invalid UTF-8): no reference
		}
		kind, tokens := ref.classify(want[0].name, want[0].data)
		if ev.Kind != kind || ev.Tokens != tokens || w.Ending() != ref.ending() {
			t.Fatalf("%s: got %s, ending %v; want %s, tokens %v, ending %v", ev.Data, inWords(ev), w.Ending(), kindNames[kind], tokens, ref.ending())
		}
		want = want[1:]
	}
	if len(want) > 0 && !bytes.HasSuffix(stream, []byte("\r")) { // after a CR the walker waits
		t.Errorf("missed the events %q", want)
	}
}

// readable reports whether data isn't JSON at all, or JSON that every decoder reads
// the same way.
func readable(data []byte) bool {
	if !json.Valid(data) {
		return true
	}
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		if _, err := dec.ReadToken(); err == io.EOF {
			return true
		} else if err != nil || dec.StackDepth() > eventDepth {
			return false
		}
	}
}

type refEvent struct{ name, data string }

// referenceEvents follows the recipe of the HTML standard on the whole text.
func referenceEvents(stream string) (events []refEvent) {
	text := strings.ReplaceAll(strings.TrimPrefix(stream, "\ufeff"), "\r\n", "\n")
	lines := strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")
	var name string
	var data []string
	for _, line := range lines[:len(lines)-1] {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if joined := strings.Join(data, "\n"); joined != "" {
				events = append(events, refEvent{name, joined})
			}
			name, data = "", nil
		case field == "event":
			name = value
		case field == "data":
			data = append(data, value)
		}
	}
	return events
}

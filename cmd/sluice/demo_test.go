package main

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
)

// curl is a command line that the demo prints.
var curl = regexp.MustCompile(`curl -\w+ http://([^/ ]+)(/\S+) -H '([^']+)' -d '([^']+)'`)

// TestTheDemoDoesWhatItPrints: its addresses answer, and its two curl lines do
// what it says of them.
func TestTheDemoDoesWhatItPrints(t *testing.T) {
	out, printed := io.Pipe()
	started := time.Now()
	code := make(chan int, 1)
	go func() {
		code <- run([]string{"demo", "--for", "3s", "--listen", "127.0.0.1:0", "--ops", "127.0.0.1:0", "--control", "127.0.0.1:0"}, printed, io.Discard)
		printed.Close()
	}()
	told, read := "", make([]byte, 64<<10)
	for !strings.Contains(told, "Ctrl-C stops it.") {
		n, err := out.Read(read)
		if err != nil {
			t.Fatalf("the demo printed %q and then: %v", told, err)
		}
		told += string(read[:n])
	}
	go io.Copy(io.Discard, out)
	t.Logf("the demo was ready after %v", time.Since(started).Round(time.Millisecond))

	for _, name := range []string{"metrics", "operators"} {
		answer, err := http.Get(addressAfter(t, told, name))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != 200 {
			t.Errorf("%s: status %d", name, answer.StatusCode)
		}
	}
	lines := curl.FindAllStringSubmatch(told, -1)
	if len(lines) != 2 {
		t.Fatalf("%d curl lines in %s", len(lines), told)
	}
	head, events := perform(t, lines[0])
	decided(t, head, "prefill", "gemma-27b", replicasAfter(told, "27B replicas"))
	var answer struct {
		Choices []struct {
			Message struct{ Content string }
		}
	}
	if err := json.Unmarshal([]byte(events[0].Raw), &answer); err != nil || len(answer.Choices) != 1 || answer.Choices[0].Message.Content == "" {
		t.Errorf("the classification was answered %s (%v)", events[0].Raw, err)
	}

	head, events = perform(t, lines[1])
	decided(t, head, "decode", "gemma-12b", replicasAfter(told, "12B replicas"))
	if kind := head.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		t.Errorf("the generation is %s", kind)
	}
	// 60 tokens; on a busy machine some come together in one event.
	if n := len(events); n < 30 || events[n-1].Data() != "[DONE]" {
		t.Fatalf("%d events", n)
	}
	if spread := events[len(events)-1].At.Sub(events[0].At); spread < 100*time.Millisecond {
		t.Errorf("60 tokens came within %v: not one by one", spread)
	}
	if got := <-code; got != exitOK {
		t.Errorf("exit code %d", got)
	}
	if took := time.Since(started); took < 3*time.Second {
		t.Errorf("it stopped after %v, want 3s", took)
	}
}

// addressAfter finds the URL printed after a word.
func addressAfter(t *testing.T, told, word string) string {
	t.Helper()
	m := regexp.MustCompile(word + ` +(http://\S+)`).FindStringSubmatch(told)
	if m == nil {
		t.Fatalf("no address of %s in %s", word, told)
	}
	return m[1]
}

func replicasAfter(told, words string) []string {
	_, rest, _ := strings.Cut(told, words)
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Fields(line)
}

// perform does what curl would, and gives the head and the events of the answer,
// or its whole body as one.
func perform(t *testing.T, line []string) (*gatewaytest.Response, []gatewaytest.Event) {
	t.Helper()
	address, path, header, body := line[1], line[2], line[3], line[4]
	c := gatewaytest.Connect(t, address)
	raw := "POST " + path + " HTTP/1.1\r\nHost: " + address + "\r\nUser-Agent: curl/8.0\r\nAccept: */*\r\n" +
		header + "\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	if err := c.Send(raw); err != nil {
		t.Fatal(err)
	}
	head, err := c.ReadHead()
	if err != nil || head.Status != 200 {
		t.Fatalf("%s: %+v, %v", raw, head, err)
	}
	if strings.HasPrefix(head.Header.Get("Content-Type"), "text/event-stream") {
		events, ending := c.Timeline()
		if ending != gatewaytest.Whole {
			t.Errorf("the stream's ending is %v", ending)
		}
		return head, events
	}
	whole, err := c.ReadBody()
	if err != nil {
		t.Fatal(err)
	}
	return head, []gatewaytest.Event{{Raw: string(whole)}}
}

// decided checks what an answer says of its decision.
func decided(t *testing.T, head *gatewaytest.Response, class, pool string, replicas []string) {
	t.Helper()
	h := head.Header
	wait, err := strconv.Atoi(h.Get("x-sluice-queue-ms"))
	if h.Get("x-sluice-class") != class || h.Get("x-sluice-pool") != pool || !slices.Contains(replicas, h.Get("x-sluice-replica")) || err != nil || wait < 0 || wait > 1000 {
		t.Errorf("class %q, pool %q, replica %q, queue-ms %q; want %s, %s, one of %v, and no wait",
			h.Get("x-sluice-class"), h.Get("x-sluice-pool"), h.Get("x-sluice-replica"), h.Get("x-sluice-queue-ms"), class, pool, replicas)
	}
}

// Command replica is a scripted vLLM replica for the client tests: what it does is
// the last message of the request it gets. It listens on two ports, so that two
// pools can have it, and prints them.
//
//	lost …         works for a while and hangs up without an answer
//	cut …          hangs up in mid-answer
//	error event …  reports an error in mid-answer
//	busy …         answers 429 the first time, with Retry-After: 1
//	hold 1500 …    pauses for so many milliseconds in mid-answer
//	anything else  answers
//
// GET /calls?of=MESSAGE says how often a message has come.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

func main() {
	r := &replica{calls: make(map[string]int)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /calls", r.serveCalls)
	mux.HandleFunc("POST /v1/chat/completions", r.chat)
	listeners := make([]net.Listener, 2)
	for i := range listeners {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			log.Fatal(err)
		}
		listeners[i] = ln
	}
	fmt.Printf("%s %s\n", listeners[0].Addr(), listeners[1].Addr())
	go func() { log.Fatal(http.Serve(listeners[0], mux)) }()
	log.Fatal(http.Serve(listeners[1], mux))
}

// worked is how long a lost request was worked at: longer than the gateway takes a
// connection that breaks for one that the replica had closed before.
const worked = 1200 * time.Millisecond

type replica struct {
	mu    sync.Mutex // guards calls
	calls map[string]int
}

func (r *replica) count(message string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[message]++
	return r.calls[message]
}

func (r *replica) serveCalls(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprint(w, r.calls[req.URL.Query().Get("of")])
}

func (r *replica) chat(w http.ResponseWriter, req *http.Request) {
	var body struct {
		Stream   bool
		Messages []struct{ Content string }
	}
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	message := body.Messages[len(body.Messages)-1].Content
	calls := r.count(message)
	switch {
	case strings.HasPrefix(message, "lost"):
		time.Sleep(worked)
		panic(http.ErrAbortHandler)
	case strings.HasPrefix(message, "busy") && calls == 1:
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"error":{"message":"busy","type":"rate_limit_error","param":null,"code":429}}`)
	case body.Stream:
		stream(w, message)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"scripted-model","choices":[{"index":0,`+
			`"message":{"role":"assistant","content":"one two three"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}`)
	}
}

func stream(w http.ResponseWriter, message string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	send := func(data string) {
		fmt.Fprintf(w, "data: %s\n\n", data)
		w.(http.Flusher).Flush()
	}
	chunk := func(delta, finish string) {
		send(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"scripted-model","choices":[{"index":0,"delta":` +
			delta + `,"finish_reason":` + finish + `}]}`)
	}
	chunk(`{"role":"assistant","content":""}`, "null")
	chunk(`{"content":"one "}`, "null")
	chunk(`{"content":"two "}`, "null")
	var pause int
	switch {
	case strings.HasPrefix(message, "cut"):
		panic(http.ErrAbortHandler)
	case strings.HasPrefix(message, "error event"):
		send(`{"error":{"message":"the engine died","type":"InternalServerError","param":null,"code":500}}`)
		send("[DONE]")
		return
	}
	if n, err := fmt.Sscanf(message, "hold %d", &pause); n == 1 && err == nil {
		time.Sleep(time.Duration(pause) * time.Millisecond)
	}
	chunk(`{"content":"three"}`, `"stop"`)
	send("[DONE]")
}

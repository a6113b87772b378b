package gatewaytest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// FinalChunk ends a chunked body properly.
const FinalChunk = "0\r\n\r\n"

// SSEHead is the head of a chunked event stream, as uvicorn writes it.
const SSEHead = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"

// SSEHeadUnframed is the head of an event stream that only the end of the connection ends.
const SSEHeadUnframed = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n"

// SSEHeadLength is the head of an event stream that promises n body bytes.
func SSEHeadLength(n int) string {
	return Head(200, "content-type: text/event-stream; charset=utf-8", fmt.Sprint("content-length: ", n))
}

// Head is a response head with the given whole header lines ("name: value").
// It says nothing of framing by itself.
func Head(status int, lines ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", status, reasons[status])
	for _, line := range lines {
		b.WriteString(line + "\r\n")
	}
	return b.String() + "\r\n"
}

// reasons are the reason phrases of the statuses that replicas use; others have none.
var reasons = map[int]string{
	200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 413: "Content Too Large",
	422: "Unprocessable Content", 429: "Too Many Requests", 500: "Internal Server Error", 501: "Not Implemented",
	502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
}

// JSON is a whole answer with a Content-Length; lines are further header lines.
func JSON(status int, body string, lines ...string) string {
	lines = append(lines, "content-type: application/json", fmt.Sprint("content-length: ", len(body)))
	return Head(status, lines...) + body
}

// Error is a whole error answer in the shape of new vLLM releases.
func Error(status int, kind, message string, lines ...string) string {
	return JSON(status, errorBody(status, kind, message), lines...)
}

// ErrorFlat is a whole error answer in the flat shape of vLLM 0.10.
func ErrorFlat(status int, kind, message string, lines ...string) string {
	body := fmt.Sprintf(`{"object":"error","message":%s,"type":%s,"param":null,"code":%d}`, quote(message), quote(kind), status)
	return JSON(status, body, lines...)
}

func errorBody(status int, kind, message string) string {
	return fmt.Sprintf(`{"error":{"message":%s,"type":%s,"param":null,"code":%d}}`, quote(message), quote(kind), status)
}

// Chunk frames s as one chunk of a chunked body.
func Chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// Data is one server-sent event that carries data.
func Data(data string) string { return "data: " + data + "\n\n" }

// TypedEvent is one server-sent event with an event line, as responses and messages use.
func TypedEvent(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

// quote is s as a JSON string.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("BUG: a string has no JSON form: " + err.Error())
	}
	return string(b)
}

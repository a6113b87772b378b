package replica

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Field is one line of a header.
type Field struct{ Name, Value string }

// Request is what is sent: these header fields in this order, besides Host and
// Content-Length which Do adds. Nothing else is added.
type Request struct {
	Method string
	Path   string // with its query, escaped; the URL's own path goes before it
	Header []Field
	Body   [][]byte // in pieces, sent without copying; must not change until Do returns

	// FirstByte is when the head of the answer must be there, and with it the
	// last moment to send. The zero time: no limit.
	FirstByte time.Time
}

// size of the body in bytes.
func (r *Request) size() int {
	n := 0
	for _, piece := range r.Body {
		n += len(piece)
	}
	return n
}

// check guards the wire: a line break or a second length that came this far
// would let one client write another's request.
func (r *Request) check() error {
	if !isToken(r.Method) || r.Method == "CONNECT" {
		return errors.New("the method must be a token, and not CONNECT")
	}
	if !isPath(r.Path) {
		return errors.New("the path must begin with / and be printable ASCII without spaces")
	}
	for i, f := range r.Header {
		if !isToken(f.Name) || strings.ContainsAny(f.Value, "\r\n\x00") {
			return fmt.Errorf("header field %d has a bad name, or a line break in its value", i+1)
		}
		if isOurs(f.Name) {
			return fmt.Errorf("header field %q is not the caller's to send", f.Name)
		}
	}
	return nil
}

// isOurs are the fields that say where a message ends or whom it is for.
func isOurs(name string) bool {
	return same(name, "host") || same(name, "content-length") ||
		same(name, "transfer-encoding") || same(name, "connection")
}

// appendHead appends the request line and header, the blank line included.
// host is the whole Host line.
func (r *Request) appendHead(dst []byte, prefix, host string) []byte {
	dst = append(dst, r.Method...)
	dst = append(dst, ' ')
	dst = append(dst, prefix...)
	dst = append(dst, r.Path...)
	dst = append(dst, " HTTP/1.1\r\n"...)
	dst = append(dst, host...)
	for _, f := range r.Header {
		dst = append(dst, f.Name...)
		dst = append(dst, ": "...)
		dst = append(dst, f.Value...)
		dst = append(dst, "\r\n"...)
	}
	if n := r.size(); n > 0 || r.Method != "GET" && r.Method != "HEAD" {
		dst = append(dst, "Content-Length: "...)
		dst = strconv.AppendInt(dst, int64(n), 10)
		dst = append(dst, "\r\n"...)
	}
	return append(dst, "\r\n"...)
}

func isPath(s string) bool {
	if s == "" || s[0] != '/' {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f || s[i] == '#' {
			return false
		}
	}
	return true
}

package replica

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxLines bounds the field lines of one head; uvicorn's own limit on requests.
const maxLines = 256

// framing says where the body of an answer ends.
type framing uint8

const (
	noBody framing = iota
	byLength
	byChunks
	byClose // with the connection: its end can't be told from a cut
)

// head is the status line and header of an answer, checked. It owns its text,
// so it may outlive the connection.
type head struct {
	status    int
	minor     int      // of HTTP/1.x: 0 or 1
	lines     string   // the field lines, each with its CRLF
	length    int      // Content-Length; -1: none
	chunked   bool     // Transfer-Encoding: chunked
	close     bool     // Connection: close
	keepAlive bool     // Connection: keep-alive
	listed    []string // what else Connection lists: fields for this hop only
}

// parseHead reads a whole head: status line, field lines and the blank line.
// It is strict: bare LF, folded lines, spaces before the colon, control
// characters and any doubt about the length are errors.
func parseHead(text string) (head, error) {
	h := head{length: -1}
	line, rest, err := cutLine(text)
	if err == nil {
		err = h.statusLine(line)
	}
	if err != nil {
		return h, err
	}
	h.lines = strings.TrimSuffix(rest, "\r\n")
	for n := 1; ; n++ {
		if line, rest, err = cutLine(rest); err != nil {
			return h, err
		}
		if line == "" {
			return h, h.checkFraming(rest)
		}
		if err = h.fieldLine(line); err != nil {
			return h, fmt.Errorf("field line %d: %w", n, err)
		}
		if n == maxLines {
			return h, fmt.Errorf("more than %d field lines", maxLines)
		}
	}
}

// cutLine takes one line, which must end in CRLF.
func cutLine(text string) (line, rest string, err error) {
	i := strings.IndexByte(text, '\n')
	if i < 1 || text[i-1] != '\r' {
		return "", "", errors.New("a line doesn't end in CRLF")
	}
	return text[:i-1], text[i+1:], nil
}

// statusLine reads "HTTP/1.1 200 OK"; the reason may be missing.
func (h *head) statusLine(line string) error {
	version, rest, _ := strings.Cut(line, " ")
	code, reason, _ := strings.Cut(rest, " ")
	switch version {
	case "HTTP/1.1":
		h.minor = 1
	case "HTTP/1.0":
	default:
		return errors.New("the status line doesn't begin with HTTP/1.1 or HTTP/1.0")
	}
	if len(code) != 3 || code[0] < '1' || code[0] > '5' || !isDigit(code[1]) || !isDigit(code[2]) {
		return errors.New("the status isn't a number from 100 to 599")
	}
	if !isText(reason) {
		return errors.New("control character in the reason phrase")
	}
	h.status = int(code[0]-'0')*100 + int(code[1]-'0')*10 + int(code[2]-'0')
	return nil
}

// fieldLine checks "name: value" and notes what matters for framing.
func (h *head) fieldLine(line string) error {
	name, value, found := strings.Cut(line, ":")
	if !found || !isToken(name) {
		return errors.New("no name followed by a colon")
	}
	if !isText(value) {
		return errors.New("control character in the value")
	}
	value = trim(value)
	switch {
	case same(name, "content-length"):
		return h.noteLength(value)
	case same(name, "transfer-encoding"):
		return h.noteCoding(value)
	case same(name, "connection"):
		h.noteConnection(value)
	}
	return nil
}

// noteLength takes 1 to 18 digits, once. A list such as "5, 5" is refused
// though RFC 9110 would let us repair it: nothing honest sends one.
func (h *head) noteLength(value string) error {
	if h.length >= 0 {
		return errors.New("a second content-length")
	}
	if len(value) < 1 || len(value) > 18 {
		return errors.New("content-length isn't 1 to 18 digits")
	}
	for i := range len(value) {
		if !isDigit(value[i]) {
			return errors.New("content-length isn't 1 to 18 digits")
		}
	}
	n, err := strconv.Atoi(value)
	h.length = n
	return err
}

func (h *head) noteCoding(value string) error {
	if h.chunked || !same(value, "chunked") {
		return errors.New("transfer-encoding is not chunked alone")
	}
	h.chunked = true
	return nil
}

func (h *head) noteConnection(value string) {
	for option := range strings.SplitSeq(value, ",") {
		switch option = trim(option); {
		case option == "":
		case same(option, "close"):
			h.close = true
		case same(option, "keep-alive"):
			h.keepAlive = true
		default:
			h.listed = append(h.listed, option)
		}
	}
}

// checkFraming refuses heads whose parts contradict each other (RFC 9112, 6.1
// and 6.3). rest is what follows the blank line: nothing.
func (h *head) checkFraming(rest string) error {
	bare := h.status < 200 || h.status == 204
	switch {
	case rest != "":
		return errors.New("text after the blank line")
	case h.status == 101:
		return errors.New("switches protocols, which nobody asked for")
	case h.chunked && h.length >= 0:
		return errors.New("both content-length and transfer-encoding")
	case h.chunked && h.minor == 0:
		return errors.New("transfer-encoding in HTTP/1.0")
	case bare && (h.chunked || h.length > 0):
		return fmt.Errorf("a body announced with status %d", h.status)
	}
	return nil
}

// framing of the body that follows. toHead: the request's method was HEAD.
func (h *head) framing(toHead bool) framing {
	switch {
	case toHead, h.status < 200, h.status == 204, h.status == 304, h.length == 0:
		return noBody
	case h.chunked:
		return byChunks
	case h.length > 0:
		return byLength
	}
	return byClose
}

// persistent tells whether the replica keeps the connection open afterwards.
func (h *head) persistent() bool {
	return !h.close && (h.minor == 1 || h.keepAlive)
}

// fields gives the end-to-end fields in order, duplicates and empty values
// included; not those of this hop, nor Content-Length.
func (h *head) fields(yield func(name, value string) bool) {
	for line := range strings.SplitSeq(h.lines, "\r\n") {
		name, value, found := strings.Cut(line, ":")
		if !found || h.hopByHop(name) {
			continue
		}
		if !yield(name, trim(value)) {
			return
		}
	}
}

// hopByHop are the fields that end here (RFC 9110, 7.6.1), and Content-Length,
// which says how this body is framed and not the one we send.
func (h *head) hopByHop(name string) bool {
	switch {
	case same(name, "connection"), same(name, "keep-alive"), same(name, "te"), same(name, "trailer"),
		same(name, "transfer-encoding"), same(name, "upgrade"), same(name, "content-length"):
		return true
	case len(name) > 6 && same(name[:6], "proxy-"):
		return true
	}
	for _, option := range h.listed {
		if same(option, strings.ToLower(name)) {
			return true
		}
	}
	return false
}

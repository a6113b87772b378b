package gateway

import (
	"bytes"
	"errors"
	"strings"

	"github.com/valyala/fasthttp"
)

// What is wrong with a header block that fasthttp has read all the same.
var (
	errVersion = errors.New("its version is not HTTP/1.x")
	errBareLF  = errors.New("a header line does not end in CRLF")
	errFolded  = errors.New("a header line is folded (it begins with a space or a tab)")
	errName    = errors.New("a header name holds a character that is not allowed there")
	errFraming = errors.New("the body's length is given in two ways, or by a transfer-encoding other than \"chunked\"")
)

// checkFraming looks once more at a request that fasthttp has read: it takes any
// version that begins with "HTTP/" for 1.1.
func checkFraming(h *fasthttp.RequestHeader) error {
	if !bytes.HasPrefix(h.Protocol(), []byte("HTTP/1.")) {
		return errVersion
	}
	return checkHead(h.RawHeaders())
}

// checkHead looks once more at a request's header lines, as they came. fasthttp
// mends or ignores what other servers read differently, and a request that two
// servers on its way read differently can hide a second one:
//
//	lines that end in a bare LF              refused
//	folded lines                             refused
//	names that are no token ("X Foo")        refused
//	Content-Length and Transfer-Encoding     refused together
//	Transfer-Encoding: identity, or a tab    refused
//
// What is left to fasthttp, which refuses it: a second Content-Length or one that
// isn't digits, other codings or several, a space before the colon, control
// characters, two Hosts or none, and chunks that aren't framed well.
//
// Accepted on purpose: names in any case, chunk extensions, space around values,
// an absolute URL in the request line. Accepted because it can't be seen here and
// hides nothing: a request line that ends in a bare LF, empty lines before it.
// Names with an underscore are accepted and stay here.
//
// Of chunks fasthttp takes more than RFC 9112 has: a bare LF at the end of a
// trailer line, spaces in its name, anything in an extension, spaces behind a size.
// None of it goes on, as the body gets a length of our own; and where two readers
// could differ on the end of the last chunk nothing is hidden behind it, since a
// chunked request is the last of its connection (Handler.Serve).
func checkHead(raw []byte) error {
	framed := false
	for len(raw) > 0 {
		end := bytes.IndexByte(raw, '\n')
		if end < 1 || raw[end-1] != '\r' {
			return errBareLF
		}
		line := raw[:end-1]
		raw = raw[end+1:]
		if len(line) == 0 {
			return nil
		}
		colon := tokenEnd(line)
		if colon == 0 || colon == len(line) || line[colon] != ':' {
			return badName(line)
		}
		switch name := line[:colon]; {
		case isNamed(name, "transfer-encoding"):
			if framed || !isNamed(bytes.Trim(line[colon+1:], " "), "chunked") {
				return errFraming
			}
			framed = true
		case isNamed(name, "content-length"):
			if framed {
				return errFraming
			}
			framed = true
		}
	}
	return nil
}

func badName(line []byte) error {
	if line[0] == ' ' || line[0] == '\t' {
		return errFolded
	}
	return errName
}

// isNamed compares ASCII in any case; nearly always the lengths differ.
func isNamed(b []byte, lower string) bool {
	return len(b) == len(lower) && strings.EqualFold(string(b), lower)
}

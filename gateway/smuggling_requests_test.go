package gateway

import (
	"fmt"
	"strings"
)

// instead is a good chat request with a request line of the test's own.
func instead(line string) string {
	_, rest, _ := strings.Cut(chat(plainLength, plainBody), "\r\n")
	return line + "\r\n" + rest
}

// behind is a good chat request with more header lines, each with its own end.
func behind(lines string) string { return chat(lines+plainLength, plainBody) }

// lengthIs is a chat request with a Content-Length of the test's own.
func lengthIs(value string) string { return chat("Content-Length:"+value+"\r\n", plainBody) }

// codingIs is a chunked chat request with a Transfer-Encoding of the test's own.
func codingIs(value string) string { return chat("Transfer-Encoding:"+value+"\r\n", chunkedBody) }

// requestLines try where a message begins, and its first line.
var requestLines = []suspect{
	{"one empty line before", "2.2", "\r\n" + behind(""), takenOnce},
	{"a bare LF before", "2.2", "\n" + behind(""), takenOnce},
	{"a bare CR before", "2.2", "\r" + behind(""), turnedDown},
	{"a space before", "3", " " + behind(""), turnedDown},
	{"a NUL before", "3", "\x00" + behind(""), turnedDown},
	{"a byte order mark before", "3", "\ufeff" + behind(""), turnedDown},
	{"the line ends in a bare LF", "2.2", strings.Replace(behind(""), "\r\n", "\n", 1), takenOnce},
	{"the line ends in a bare CR", "2.2", strings.Replace(behind(""), "\r\n", "\r", 1), turnedDown},
	{"a CR within", "2.2", instead("POST /v1/chat/\rcompletions HTTP/1.1"), turnedDown},
	{"two CRs at its end", "2.2", instead("POST /v1/chat/completions HTTP/1.1\r"), turnedDown},
	{"two spaces", "3", instead("POST  /v1/chat/completions HTTP/1.1"), turnedDown},
	{"two spaces before the version", "3", instead("POST /v1/chat/completions  HTTP/1.1"), turnedDown},
	{"a tab for a space", "3", instead("POST\t/v1/chat/completions HTTP/1.1"), turnedDown},
	{"a tab before the version", "3", instead("POST /v1/chat/completions\tHTTP/1.1"), turnedDown},
	{"a space at its end", "3", instead("POST /v1/chat/completions HTTP/1.1 "), turnedDown},
	{"a word too many", "3", instead("POST /v1/chat/completions HTTP/1.1 HTTP/1.1"), turnedDown},
	{"a space in the path", "3.2", instead("POST /v1/chat/completions x HTTP/1.1"), turnedDown},
	{"a NUL in the path", "3.2", instead("POST /v1/chat/completions\x00 HTTP/1.1"), turnedDown},
	{"no version", "3", instead("POST /v1/chat/completions"), turnedDown},
	{"version 0.9", "2.3", instead("POST /v1/chat/completions HTTP/0.9"), turnedDown},
	{"version 2.0", "2.3", instead("POST /v1/chat/completions HTTP/2.0"), turnedDown},
	{"version 1.", "2.3", instead("POST /v1/chat/completions HTTP/1."), turnedDown},
	{"version 1.10", "2.3", instead("POST /v1/chat/completions HTTP/1.10"), turnedDown},
	{"version 01.1", "2.3", instead("POST /v1/chat/completions HTTP/01.1"), turnedDown},
	{"a version in small letters", "2.3", instead("POST /v1/chat/completions http/1.1"), turnedDown},
	{"another protocol", "2.3", instead("POST /v1/chat/completions ICAP/1.1"), turnedDown},
	{"a later version of HTTP/1", "2.3", strings.Replace(behind("Connection: keep-alive\r\n"), "HTTP/1.1", "HTTP/1.2", 1), takenOnce},
	{"the preface of HTTP/2", "2.3", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", turnedDown},
	{"a method that is no token", "3.1", instead("PO(ST /v1/chat/completions HTTP/1.1"), turnedDown},
	{"a method in small letters", "3.1", instead("post /v1/chat/completions HTTP/1.1"), closing(405)},
	{"no method", "3.1", instead("/v1/chat/completions HTTP/1.1"), turnedDown},
	{"an absolute address", "3.2.2", strings.Replace(behind(""), "/v1/", "http://else.test/v1/", 1), takenOnce},
	{"an asterisk", "3.2.4", instead("POST * HTTP/1.1"), turnedDown},
	{"a tunnel", "3.2.3", "CONNECT gateway.test:80 HTTP/1.1\r\nHost: gateway.test:80\r\n\r\n", "404 404"},
	{"a tunnel with a body", "3.2.3", instead("CONNECT gateway.test:80 HTTP/1.1"), closing(404)},
	{"TRACE with a body", "RFC 9110, 9.3.8", instead("TRACE / HTTP/1.1"), closing(404)},
	{"a list asked for with a body", "RFC 9110, 9.3.1", strings.Replace(chat("Content-Length: "+fmt.Sprint(len(marker))+"\r\n", ""), "POST /v1/chat/completions", "GET /v1/models", 1), "200 silent"},
	{"a list asked for with chunks", "RFC 9110, 9.3.1", strings.Replace(chat(coded, chunkedBody), "POST /v1/chat/completions", "GET /v1/models", 1), lastOne},
	{"HEAD with a body", "RFC 9110, 9.3.2", instead("HEAD /v1/chat/completions HTTP/1.1"), closing(405)},
}

// requestHeads try the header lines, and how they tell the body's length.
var requestHeads = []suspect{
	{"one bare LF", "2.2", behind("X-Foo: 1\n"), turnedDown},
	{"bare LF everywhere", "2.2", strings.ReplaceAll(behind(""), "\r\n", "\n"), turnedDown},
	{"a blank line that is a bare LF", "2.2", "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway.test\r\n" + plainLength + "\n" + plainBody, turnedDown},
	{"a bare CR for a line's end", "2.2", behind("X-Foo: 1\rX-Bar: 2\r\n"), turnedDown},
	{"CR in a value", "2.2", behind("X-Foo: a\rb\r\n"), turnedDown},
	{"two CRs at a line's end", "2.2", behind("X-Foo: 1\r\r\n"), turnedDown},
	{"the first line is folded", "2.2", strings.Replace(behind(""), "Host", " Host", 1), turnedDown},
	{"folded", "5.2", behind("X-Foo: a\r\n b\r\n"), turnedDown},
	{"folded with a tab", "5.2", behind("X-Foo: a\r\n\tb\r\n"), turnedDown},
	{"a folded coding", "5.2", codingIs("\r\n chunked"), turnedDown},
	{"a folded length", "5.2", lengthIs("\r\n 5"), turnedDown},
	{"a line of one space", "5.2", behind("X-Foo: a\r\n \r\n"), turnedDown},
	{"a space before the colon", "5.1", behind("X-Foo : 1\r\n"), turnedDown},
	{"a space before the coding's colon", "5.1", chat("Transfer-Encoding : chunked\r\n", chunkedBody), turnedDown},
	{"a space before the length's colon", "5.1", chat(strings.Replace(plainLength, ":", " :", 1), plainBody), turnedDown},
	{"a tab before the colon", "5.1", chat("Transfer-Encoding\t: chunked\r\n", chunkedBody), turnedDown},
	{"a space in a name", "5.1", behind("X Foo: 1\r\n"), turnedDown},
	{"a NUL in a name", "5.1", behind("X\x00Foo: 1\r\n"), turnedDown},
	{"brackets in a name", "5.1", behind("X(Foo): 1\r\n"), turnedDown},
	{"a name beyond ASCII", "5.1", behind("X-F\u00f6o: 1\r\n"), turnedDown},
	{"no name", "5.1", behind(": 1\r\n"), turnedDown},
	{"no colon", "5.1", behind("X-Foo\r\n"), turnedDown},
	{"NUL in a value", "RFC 9110, 5.5", behind("X-Foo: a\x00b\r\n"), turnedDown},
	{"a vertical tab before the coding", "5.1", codingIs("\x0bchunked"), turnedDown},
	{"DEL in a value", "RFC 9110, 5.5", behind("X-Foo: a\x7fb\r\n"), turnedDown},
	{"no host", "3.2", "POST /v1/chat/completions HTTP/1.1\r\n" + plainLength + "\r\n" + plainBody, turnedDown},
	{"two hosts", "3.2", behind("Host: other.test\r\n"), turnedDown},
	{"one host twice", "3.2", behind("Host: gateway.test\r\n"), turnedDown},
	{"length, then coding", "6.1", chat(plainLength+coded, chunkedBody), turnedDown},
	{"coding, then length", "6.1", chat(coded+plainLength, chunkedBody), turnedDown},
	{"coding and a length of 0", "6.1", chat(coded+"Content-Length: 0\r\n", chunkedBody), turnedDown},
	{"coding twice", "6.1", chat(coded+coded, chunkedBody), turnedDown},
	{"two codings", "6.1", codingIs(" chunked, identity"), turnedDown},
	{"chunked twice", "6.1", codingIs(" chunked, chunked"), turnedDown},
	{"gzip, then chunked", "6.1", codingIs(" gzip, chunked"), turnedDown},
	{"identity", "6.1", chat("Transfer-Encoding: identity\r\n", plainBody), turnedDown},
	{"identity with a length", "6.1", chat("Transfer-Encoding: identity\r\n"+plainLength, plainBody), turnedDown},
	{"another coding", "6.1", codingIs(" xchunked"), turnedDown},
	{"a coding cut short", "6.1", codingIs(" chunk"), turnedDown},
	{"an empty coding", "6.1", codingIs(""), turnedDown},
	{"an empty list of codings", "6.1", codingIs(" ,"), turnedDown},
	{"a comma behind the coding", "6.1", codingIs(" chunked,"), turnedDown},
	{"a comma before the coding", "6.1", codingIs(" ,chunked"), turnedDown},
	{"a coding with a parameter", "7", codingIs(" chunked;q=1"), turnedDown},
	{"a coding in quotes", "7", codingIs(` "chunked"`), turnedDown},
	{"a coding with a Kelvin sign", "7", codingIs(" chun\u212aed"), turnedDown},
	{"a coding behind a tab", "5.1", codingIs("\tchunked"), turnedDown},
	{"coding in HTTP/1.0", "6.1", strings.Replace(chat(coded, chunkedBody), "HTTP/1.1", "HTTP/1.0", 1), turnedDown},
	{"a coding in small letters", "7", chat("transfer-encoding: chunked\r\n", chunkedBody), lastOne},
	{"a coding in capitals", "7", chat("TRANSFER-ENCODING: CHUNKED\r\n", chunkedBody), lastOne},
	{"a coding with an underscore", "5.1", chat("Transfer_Encoding: chunked\r\n", ""), bodiless},
	{"two lengths", "6.3", chat("Content-Length: 5\r\nContent-Length: 6\r\n", plainBody), turnedDown},
	{"one length twice", "6.3", chat(plainLength+plainLength, plainBody), turnedDown},
	{"one length twice, in another case", "6.3", chat(plainLength+strings.ToLower(plainLength), plainBody), turnedDown},
	{"a list of lengths", "6.3", lengthIs(" 5,5"), turnedDown},
	{"a list of lengths with a space", "6.3", lengthIs(fmt.Sprintf(" %d, %[1]d", len(plainBody))), turnedDown},
	{"a length with a sign", "RFC 9110, 8.6", lengthIs(" +5"), turnedDown},
	{"a negative length", "RFC 9110, 8.6", lengthIs(" -1"), turnedDown},
	{"a length in hex", "RFC 9110, 8.6", lengthIs(" 0x5"), turnedDown},
	{"a length with a point", "RFC 9110, 8.6", lengthIs(" 5.0"), turnedDown},
	{"a length with an exponent", "RFC 9110, 8.6", lengthIs(" 1e1"), turnedDown},
	{"a length with a space within", "RFC 9110, 8.6", lengthIs(" 5 5"), turnedDown},
	{"a length with an underscore", "RFC 9110, 8.6", lengthIs(" 1_0"), turnedDown},
	{"a length in other digits", "RFC 9110, 8.6", lengthIs(" \u0665"), turnedDown},
	{"no length in its line", "RFC 9110, 8.6", lengthIs(""), turnedDown},
	{"a length beyond all bounds", "RFC 9110, 8.6", lengthIs(" 99999999999999999999"), turnedDown},
	{"a length that wraps round", "RFC 9110, 8.6", lengthIs(fmt.Sprintf(" 1844674407370955%d", 1616+len(plainBody))), turnedDown},
	{"spaces round a length", "5.1", lengthIs(fmt.Sprintf("   %d  ", len(plainBody))), takenOnce},
	{"zeros before a length", "RFC 9110, 8.6", lengthIs(fmt.Sprintf(" 000%d", len(plainBody))), takenOnce},
	{"a length with an underscore in its name", "5.1", behind("Content_Length: 5\r\n"), takenOnce},
	{"no length", "6.3", chat("", ""), bodiless},
	{"no length but a body", "6.3", chat("", plainBody), cutShort},
	{"a length of 0 but a body", "6.3", chat("Content-Length: 0\r\n", plainBody), cutShort},
	{"a length too short", "6.3", lengthIs(fmt.Sprint(" ", len(plainBody)-1)), cutShort},
	{"a length that takes in the marker", "6.3", lengthIs(fmt.Sprint(" ", len(plainBody)+len(marker))), swallowed},
	{"the length listed as one of the hop", "RFC 9110, 7.6.1", behind("Connection: content-length, host\r\n"), takenOnce},
	{"an upgrade to HTTP/2", "RFC 9110, 7.8", behind("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"), takenOnce},
	{"trailers announced", "7.4", behind("TE: trailers, chunked\r\n"), takenOnce},
	{"an expectation", "RFC 9110, 10.1.1", behind("Expect: 100-continue\r\n"), takenOnce},
	{"an expectation twice", "RFC 9110, 10.1.1", behind("Expect: 100-continue\r\nExpect: 100-continue\r\n"), takenOnce},
}

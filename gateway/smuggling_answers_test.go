package gateway

import (
	"fmt"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// retort is one answer of a replica, of the corpus, and how the request ends that
// gets it. Whatever isn't completed is a 502 for the client, and costs the replica
// its connection.
type retort struct {
	name string
	rfc  string // the section of RFC 9112 that it tries, or of another where that is named
	raw  string // without the marker
	want router.Outcome
}

// hidden is the marker behind an answer: a second one, which nobody asked for.
const hidden = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n\"smuggled\""

var (
	saidBody   = wholeBody("x")
	saidLength = fmt.Sprint("content-length: ", len(saidBody))
	saidChunks = gatewaytest.Chunk(saidBody) + gatewaytest.FinalChunk
)

const saidCoding = "transfer-encoding: chunked"

// says is a good answer with header lines of the test's own, which frame it.
func says(body string, lines ...string) string {
	return gatewaytest.Head(200, append([]string{"content-type: application/json"}, lines...)...) + body
}

// status is a good answer with a status line of the test's own.
func status(line string) string {
	_, rest, _ := strings.Cut(says(saidBody, saidLength), "\r\n")
	return line + "\r\n" + rest
}

// replicaHeads try the status line, the header lines and what they tell of the
// body's length.
var replicaHeads = []retort{
	{"a length", "6.2", says(saidBody, saidLength), router.Completed},
	{"no reason", "4", status("HTTP/1.1 200 "), router.Completed},
	{"no reason, no space", "4", status("HTTP/1.1 200"), router.Completed},
	{"an interim answer before", "RFC 9110, 15.2", "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" + says(saidBody, saidLength), router.Completed},
	{"spaces round a length", "5.1", says(saidBody, strings.Replace(saidLength, ": ", ": \t ", 1)+" "), router.Completed},
	{"an empty line before", "2.2", "\r\n" + says(saidBody, saidLength), router.Lost},
	{"a status line that ends in a bare LF", "2.2", strings.Replace(says(saidBody, saidLength), "\r\n", "\n", 1), router.Lost},
	{"bare LF everywhere", "2.2", strings.ReplaceAll(says(saidBody, saidLength), "\r\n", "\n"), router.Lost},
	{"a CR in the reason", "2.2", status("HTTP/1.1 200 O\rK"), router.Lost},
	{"a NUL in the reason", "4", status("HTTP/1.1 200 O\x00K"), router.Lost},
	{"two spaces before the status", "4", status("HTTP/1.1  200 OK"), router.Lost},
	{"a tab before the status", "4", status("HTTP/1.1\t200 OK"), router.Lost},
	{"a status of two digits", "4", status("HTTP/1.1 20 OK"), router.Lost},
	{"a status of four digits", "4", status("HTTP/1.1 2000 OK"), router.Lost},
	{"a status with a sign", "4", status("HTTP/1.1 +20 OK"), router.Lost},
	{"status 600", "RFC 9110, 15", status("HTTP/1.1 600 OK"), router.Lost},
	{"status 0", "RFC 9110, 15", status("HTTP/1.1 000 OK"), router.Lost},
	{"version 0.9", "2.3", status("HTTP/0.9 200 OK"), router.Lost},
	{"version 2", "2.3", status("HTTP/2 200 OK"), router.Lost},
	{"version 1.2", "2.3", status("HTTP/1.2 200 OK"), router.Lost},
	{"a version in small letters", "2.3", status("http/1.1 200 OK"), router.Lost},
	{"another protocol", "2.3", "SSH-2.0-OpenSSH_9.9\r\n\r\n", router.Lost},
	{"no head at all", "2.3", saidBody + "\r\n\r\n", router.Lost},
	{"a switch of protocols", "RFC 9110, 15.2.2", "HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n", router.Lost},
	{"interim answers without an end", "RFC 9110, 15.2", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 20) + says(saidBody, saidLength), router.Lost},
	{"an interim answer with a body", "6.3", "HTTP/1.1 103 Early Hints\r\ncontent-length: 5\r\n\r\nhello" + says(saidBody, saidLength), router.Lost},
	{"no content with a length", "6.3", "HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\nhello", router.Lost},
	{"no content with a coding", "6.1", "HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n" + saidChunks, router.Lost},
	{"length and coding", "6.1", says(saidChunks, saidLength, saidCoding), router.Lost},
	{"coding and length", "6.1", says(saidChunks, saidCoding, saidLength), router.Lost},
	{"coding and a length of 0", "6.1", says(saidChunks, saidCoding, "content-length: 0"), router.Lost},
	{"coding twice", "6.1", says(saidChunks, saidCoding, saidCoding), router.Lost},
	{"two codings", "6.1", says(saidChunks, "transfer-encoding: chunked, identity"), router.Lost},
	{"gzip, then chunked", "6.1", says(saidChunks, "transfer-encoding: gzip, chunked"), router.Lost},
	{"identity", "6.1", says(saidBody, "transfer-encoding: identity"), router.Lost},
	{"another coding", "6.1", says(saidChunks, "transfer-encoding: xchunked"), router.Lost},
	{"an empty coding", "6.1", says(saidChunks, "transfer-encoding:"), router.Lost},
	{"a coding with a Kelvin sign", "7", says(saidChunks, "transfer-encoding: chun\u212aed"), router.Lost},
	{"a coding behind a vertical tab", "5.1", says(saidChunks, "transfer-encoding:\x0bchunked"), router.Lost},
	{"a coding in HTTP/1.0", "6.1", strings.Replace(says(saidChunks, saidCoding), "HTTP/1.1", "HTTP/1.0", 1), router.Lost},
	{"two lengths", "6.3", says(saidBody, saidLength, "content-length: 5"), router.Lost},
	{"one length twice", "6.3", says(saidBody, saidLength, saidLength), router.Lost},
	{"a list of lengths", "6.3", says(saidBody, "content-length: 5,5"), router.Lost},
	{"a length with a sign", "RFC 9110, 8.6", says(saidBody, "content-length: +5"), router.Lost},
	{"a negative length", "RFC 9110, 8.6", says(saidBody, "content-length: -1"), router.Lost},
	{"a length in hex", "RFC 9110, 8.6", says(saidBody, "content-length: 0x5"), router.Lost},
	{"a length with a space within", "RFC 9110, 8.6", says(saidBody, "content-length: 5 5"), router.Lost},
	{"no length in its line", "RFC 9110, 8.6", says(saidBody, "content-length:"), router.Lost},
	{"a length beyond all bounds", "RFC 9110, 8.6", says(saidBody, "content-length: 99999999999999999999"), router.Lost},
	{"folded", "5.2", says(saidBody, "x-foo: a\r\n b", saidLength), router.Lost},
	{"a folded length", "5.2", says(saidBody, "content-length:\r\n 5"), router.Lost},
	{"the first line is folded", "2.2", strings.Replace(says(saidBody, saidLength), "content-type", " content-type", 1), router.Lost},
	{"one bare LF", "2.2", says(saidBody, "x-foo: a\nx-bar: b", saidLength), router.Lost},
	{"CR in a value", "2.2", says(saidBody, "x-foo: a\rb", saidLength), router.Lost},
	{"NUL in a value", "RFC 9110, 5.5", says(saidBody, "x-foo: a\x00b", saidLength), router.Lost},
	{"a space before the colon", "5.1", says(saidBody, "x-foo : a", saidLength), router.Lost},
	{"a space before the coding's colon", "5.1", says(saidChunks, "transfer-encoding : chunked"), router.Lost},
	{"a space in a name", "5.1", says(saidBody, "x foo: a", saidLength), router.Lost},
	{"no name", "5.1", says(saidBody, ": a", saidLength), router.Lost},
	{"no colon", "5.1", says(saidBody, "x-foo", saidLength), router.Lost},
	{"headers too large", "RFC 9110, 5.4", says(saidBody, "x-foo: "+strings.Repeat("a", 40<<10), saidLength), router.Lost},
	{"too many header lines", "RFC 9110, 5.4", says(saidBody, strings.Repeat("x-foo: a\r\n", 300)+"x-bar: b", saidLength), router.Lost},
}

// replicaBodies try lengths and the chunked coding.
var replicaBodies = []retort{
	{"chunks", "7.1", says(saidChunks, saidCoding), router.Completed},
	{"a coding in another case", "7", says(saidChunks, "Transfer-Encoding: CHUNKED"), router.Completed},
	{"an extension", "7.1.1", says(strings.Replace(saidChunks, "\r\n", ";a=b\r\n", 1), saidCoding), router.Completed},
	{"a trailer", "7.1.2", says(gatewaytest.Chunk(saidBody)+"0\r\nx-sum: 1\r\n\r\n", saidCoding), router.Completed},
	{"a length too short", "6.3", says(saidBody, fmt.Sprint("content-length: ", len(saidBody)-1)), router.Truncated},
	{"a length of 0", "6.3", says(saidBody, "content-length: 0"), router.Truncated},
	{"a size with 0x", "7.1", says("0x1\r\n"+saidBody[:1]+"\r\n"+saidChunks, saidCoding), router.Lost},
	{"a size with a sign", "7.1", says("+"+saidChunks, saidCoding), router.Lost},
	{"a negative size", "7.1", says("-"+saidChunks, saidCoding), router.Lost},
	{"a size with a space behind", "7.1", says(strings.Replace(saidChunks, "\r\n", " \r\n", 1), saidCoding), router.Lost},
	{"a size behind a space", "7.1", says(" "+saidChunks, saidCoding), router.Lost},
	{"a size of seventeen digits", "7.1", says("ffffffffffffffff1\r\n"+saidBody, saidCoding), router.Lost},
	{"no size", "7.1", says("\r\n"+saidChunks, saidCoding), router.Lost},
	{"a size behind a bare LF", "7.1", says(strings.Replace(saidChunks, "\r\n", "\n", 1), saidCoding), router.Lost},
	{"a bare LF in an extension", "7.1.1", says(strings.Replace(saidChunks, "\r\n", ";a\nb\r\n", 1), saidCoding), router.Lost},
	{"an extension without an end", "7.1.1", says(strings.Replace(saidChunks, "\r\n", ";"+strings.Repeat("x", 1000)+"\r\n", 1), saidCoding), router.Lost},
	{"a bad later chunk", "7.1", says(gatewaytest.Chunk(saidBody[:9])+"x\r\n"+saidBody[9:], saidCoding), router.Truncated},
	{"a chunk longer than said", "7.1", says(gatewaytest.Chunk(saidBody[:9])+strings.Replace(gatewaytest.Chunk(saidBody[9:]), "\r\n", "\r\nx", 1)+gatewaytest.FinalChunk, saidCoding), router.Truncated},
	{"data that ends in a bare LF", "7.1", says(strings.Replace(gatewaytest.Chunk(saidBody), "}\r\n", "}\n", 1)+gatewaytest.FinalChunk, saidCoding), router.Truncated},
	{"a blank line that is a bare LF, behind chunks", "7.1", says(gatewaytest.Chunk(saidBody)+"0\r\n\n", saidCoding), router.Truncated},
	{"no blank line behind the last chunk", "7.1", says(gatewaytest.Chunk(saidBody)+"0\r\n", saidCoding), router.Truncated},
	{"a trailer without a colon", "7.1.2", says(gatewaytest.Chunk(saidBody)+"0\r\nx-sum\r\n\r\n", saidCoding), router.Truncated},
	{"a folded trailer", "7.1.2", says(gatewaytest.Chunk(saidBody)+"0\r\nx-sum: 1\r\n 2\r\n\r\n", saidCoding), router.Truncated},
	{"trailers without an end", "7.1.2", says(gatewaytest.Chunk(saidBody)+"0\r\n"+strings.Repeat("x-sum: 1\r\n", 5000), saidCoding), router.Truncated},
	{"another answer behind", "9.3", says(saidBody, saidLength) + says(saidBody, saidLength), router.Completed},
}

// TestSmuggledAnswers has a replica give each answer of the corpus, and a second
// one behind it. The client gets the first if it can be read in one way only, and
// otherwise an error; the second reaches nobody, not even the next client.
func TestSmuggledAnswers(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t)
	r := start(t, onePool(4, rep)+"limits: {headers: 16KiB}\n")
	names := make(map[string]bool)
	corpus := append(append([]retort{}, replicaHeads...), replicaBodies...)
	for _, s := range corpus {
		if names[s.name] {
			t.Fatalf("two answers are called %q", s.name)
		}
		names[s.name] = true
		t.Run(s.name, func(t *testing.T) {
			before := r.outcomes(s.want)
			rep.Script(gatewaytest.Send(s.raw + hidden))
			answer, want := r.post(plainBody), 502
			if s.want == router.Completed {
				want = 200
			}
			if answer.Status != want || answer.Ending != gatewaytest.Whole || strings.Contains(string(answer.Body), "smuggled") {
				t.Errorf("section %s: answer %d, ending %v: %s\n%.500q", s.rfc, answer.Status, answer.Ending, answer.Body, s.raw)
			}
			if n := r.outcomes(s.want); n != before+1 {
				t.Errorf("section %s: %d ended as %v, want 1\n%s", s.rfc, n-before, s.want, r.access)
			}
			rep.Script(gatewaytest.Send(says(saidBody, saidLength)))
			if answer := r.post(plainBody); answer.Status != 200 || string(answer.Body) != saidBody {
				t.Errorf("the next answer is %d: %s", answer.Status, answer.Body)
			}
			calls := rep.Calls()
			if bad, next := calls[len(calls)-2], calls[len(calls)-1]; bad.Conn == next.Conn {
				t.Error("the connection was used again")
			}
		})
	}
	r.quiet()
	t.Logf("%d answers", len(corpus))
}

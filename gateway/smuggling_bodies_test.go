package gateway

import (
	"strings"

	"sluice/gateway/gatewaytest"
)

// sized is a chunked chat request with a size line of the test's own.
func sized(size string) string { return chat(coded, oneByteChunk(size)) }

// ended is a chunked chat request whose last chunk is the test's own.
func ended(last string) string { return chat(coded, gatewaytest.Chunk(plainBody)+last) }

// requestBodies try the chunked coding: sizes, extensions, data, trailers.
var requestBodies = []suspect{
	{"chunks", "7.1", chat(coded, chunkedBody), lastOne},
	{"zeros before a size", "7.1", sized("0001"), lastOne},
	{"a size in capitals", "7.1", chat(coded, strings.ToUpper(gatewaytest.Chunk(plainBody)[:2])+gatewaytest.Chunk(plainBody)[2:]+gatewaytest.FinalChunk), lastOne},
	{"a space behind the size", "7.1", sized("1 "), lastOne},
	{"a last chunk of many zeros", "7.1", ended("000\r\n\r\n"), lastOne},
	{"a size with 0x", "7.1", sized("0x1"), turnedDown},
	{"a size with a sign", "7.1", sized("+1"), turnedDown},
	{"a negative size", "7.1", sized("-1"), turnedDown},
	{"a size behind a space", "7.1", sized(" 1"), turnedDown},
	{"a size behind a tab", "7.1", sized("\t1"), turnedDown},
	{"a size with an underscore", "7.1", sized("0_1"), turnedDown},
	{"a size with a letter behind", "7.1", sized("1h"), turnedDown},
	{"a size with a point", "7.1", sized("1.0"), turnedDown},
	{"a size in quotes", "7.1", sized(`"1"`), turnedDown},
	{"a size that wraps round 64 bits", "7.1", sized("1" + strings.Repeat("0", 15) + "1"), turnedDown},
	{"a size that wraps round 32 bits", "7.1", sized("100000001"), closing(408)},
	{"no size", "7.1", sized(""), turnedDown},
	{"an extension alone", "7.1.1", sized(";a=1"), turnedDown},
	{"a size behind a bare LF", "7.1", chat(coded, strings.Replace(chunkedBody, "\r\n", "\n", 1)), turnedDown},
	{"a size behind a bare CR", "7.1", chat(coded, strings.Replace(chunkedBody, "\r\n", "\r", 1)), turnedDown},
	{"a chunk longer than said", "7.1", chat(coded, strings.Replace(chunkedBody, "}\r\n", "}x\r\n", 1)), turnedDown},
	{"a chunk shorter than said", "7.1", chat(coded, strings.Replace(chunkedBody, "}\r\n", "\r\n", 1)), turnedDown},
	{"data that ends in a bare LF", "7.1", chat(coded, strings.Replace(chunkedBody, "}\r\n", "}\n", 1)), turnedDown},
	{"data that ends in a bare CR", "7.1", chat(coded, strings.Replace(chunkedBody, "}\r\n", "}\r", 1)), turnedDown},
	{"data that ends in other bytes", "7.1", chat(coded, strings.Replace(chunkedBody, "}\r\n", "}XX", 1)), turnedDown},
	{"data without an end", "7.1", chat(coded, strings.Replace(chunkedBody, "}\r\n", "}", 1)), turnedDown},
	{"an extension", "7.1.1", sized("1;ext"), lastOne},
	{"an extension with a value", "7.1.1", sized(`1;a="b"`), lastOne},
	{"an extension of the last chunk", "7.1.1", ended("0;a=b\r\n\r\n"), lastOne},
	{"a bare LF in an extension", "7.1.1", sized("1;a\nb"), turnedDown},
	{"a bare LF that ends an extension", "7.1.1", chat(coded, "1;a\n"+plainBody[:1]+"\r\n"+gatewaytest.Chunk(plainBody[1:])+gatewaytest.FinalChunk), turnedDown},
	{"a bare CR in an extension", "7.1.1", sized("1;a\rb"), turnedDown},
	{"a NUL in an extension", "7.1.1", sized("1;a\x00b"), lastOne},
	{"an extension without an end", "7.1.1", sized("1;" + strings.Repeat("x", 20<<10)), lastOne},
	{"a bare LF behind the last chunk", "7.1", ended("0\n\r\n"), turnedDown},
	{"a blank line that is a bare LF, behind chunks", "7.1", ended("0\r\n\n"), lastOne},
	{"no blank line behind the last chunk", "7.1", ended("0\r\n"), turnedDown},
	{"text for the blank line", "7.1", ended("0\r\nX"), turnedDown},
	{"a trailer", "7.1.2", chat(coded+"Trailer: X-Sum\r\n", gatewaytest.Chunk(plainBody)+"0\r\nX-Sum: 1\r\n\r\n"), lastOne},
	{"a trailer that is a length", "7.1.2", ended("0\r\nContent-Length: 5\r\n\r\n"), turnedDown},
	{"a trailer that is a coding", "7.1.2", ended("0\r\nTransfer-Encoding: chunked\r\n\r\n"), turnedDown},
	{"a trailer that is a host", "7.1.2", ended("0\r\nHost: other.test\r\n\r\n"), turnedDown},
	{"a trailer without a colon", "7.1.2", ended("0\r\nX-Sum\r\n\r\n"), turnedDown},
	{"a trailer with a space before the colon", "7.1.2", ended("0\r\nX-Sum : 1\r\n\r\n"), lastOne},
	{"a trailer with a space in its name", "7.1.2", ended("0\r\nX Sum: 1\r\n\r\n"), lastOne},
	{"a trailer that ends in a bare LF", "7.1.2", ended("0\r\nX-Sum: 1\n\r\n"), lastOne},
	{"a folded trailer", "7.1.2", ended("0\r\nX-Sum: 1\r\n 2\r\n\r\n"), lastOne},
	{"a NUL in a trailer", "7.1.2", ended("0\r\nX-Sum: \x00\r\n\r\n"), turnedDown},
	{"trailers without an end", "7.1.2", ended("0\r\n" + strings.Repeat("X-Sum: 1\r\n", 8<<10)), turnedDown},
	{"an expectation with chunks", "RFC 9110, 10.1.1", chat("Expect: 100-continue\r\n"+coded, chunkedBody), lastOne},
}

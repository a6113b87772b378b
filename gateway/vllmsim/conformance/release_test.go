package conformance

import (
	"strconv"
	"strings"
)

// messagesSince is the first release that is known to serve /v1/messages.
const messagesSince = "0.12.0"

// needs is the first release that a check is for, where older ones do something
// else: what they do, the gateway reads as well, and vllmsim's own tests show it.
var needs = map[string]string{
	"messages stream":                 messagesSince,
	"messages answer":                 messagesSince,
	"count_tokens agrees with usage":  messagesSince,
	"errors of messages":              messagesSince,
	"the load in a header":            "0.12.0",
	"a message of a schema":           messagesSince,
	"use of tools in messages":        messagesSince,
	"what a tool answered":            messagesSince,
	"a response of a schema":          "0.32.0",
	"forms that can't be":             "0.32.0",
	"response formats that can't be":  "0.32.0",
	"shape of calls":                  "0.32.0",
	"function calls in responses":     "0.32.0",
	"a choice of tools that can't be": "0.32.0",
	"names of newer releases":         "0.32.0",
}

// before says whether the server is older than a release. An empty one is older
// than all.
func (s *server) before(release string) bool {
	own, other := strings.Split(s.release, "."), strings.Split(release, ".")
	for i := range min(len(own), len(other)) {
		if a, b := leading(own[i]), leading(other[i]); a != b {
			return a < b
		}
	}
	return false
}

// leading is the number that a part of a version begins with: 1 of 1rc2.
func leading(part string) int {
	end := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(part)
	}
	n, _ := strconv.Atoi(part[:end]) // none: 0
	return n
}

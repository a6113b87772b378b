package replica

import (
	"net/http"
	"strings"

	"sluice/router"
)

// Judge is what the status of an answer means for the request. Undecided (2xx)
// means: go on, the body decides.
//
// aboutModel says that the error body is about the model that the gateway asked
// for (vLLM: type NotFoundError, param "model"). Only then is a 404 our fault:
// a replica that doesn't serve the name its pool is configured with. vLLM also
// answers 404, {"detail":"Not Found"}, on endpoints that its model doesn't
// support, and that is an answer for the client.
//
// A 501 is one too: vLLM sends it for request options that it hasn't
// implemented, and one client's odd option must not open a replica's breaker.
// Redirects are never followed: they say that the replica's URL is wrong.
func Judge(status int, aboutModel bool) router.Outcome {
	switch {
	case status >= 200 && status <= 299:
		return router.Undecided
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		return router.Busy
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status < 400:
		return router.Misconfigured
	case status == http.StatusNotFound && aboutModel:
		return router.Misconfigured
	case status < 500, status == http.StatusNotImplemented:
		return router.ClientError
	}
	return router.ReplicaError
}

// ShutsDown reports whether an error says that the replica is about to end and hasn't
// begun the request: for a second or two before its port closes vLLM answers so
// whatever it is asked, in words of Python's thread pool, while /health says 200.
func ShutsDown(status int, message string) bool {
	return status == http.StatusInternalServerError && strings.Contains(message, "cannot schedule new futures after shutdown")
}

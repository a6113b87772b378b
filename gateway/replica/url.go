package replica

import (
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// address is what a replica's URL says.
type address struct {
	url    string // as configured: the replica's identity
	secure bool   // https
	name   string // to verify the certificate by
	dial   string // host:port
	prefix string // of every path; "" or "/…" without a slash at its end
	host   string // the Host line, with its CRLF
}

// parseURL takes http(s)://host[:port][/path]. IPv6 literals stand in brackets.
func parseURL(s string) (address, error) {
	u, err := url.Parse(s)
	if err != nil {
		return address{}, errors.Unwrap(err)
	}
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	switch {
	case port == "":
		return address{}, errors.New("want http://host:port or https://host:port")
	case u.Hostname() == "":
		return address{}, errors.New("the host is missing, want http://host:port")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return address{}, errors.New("no user, query or fragment may be in it")
	}
	if p := u.Port(); p != "" {
		port = p
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return address{}, errors.New("the port must be from 1 to 65535")
	}
	a := address{url: s, secure: u.Scheme == "https", name: u.Hostname()}
	a.dial = net.JoinHostPort(u.Hostname(), port)
	a.prefix = strings.TrimRight(u.EscapedPath(), "/")
	a.host = "Host: " + hostOf(u) + "\r\n"
	if !isPath(a.prefix+"/") || !isPath("/"+hostOf(u)) {
		return address{}, errors.New("it must be printable ASCII (write names with other letters in punycode)")
	}
	return a, nil
}

// redacted is the URL for a message, without a password that doesn't belong in it.
func redacted(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "(not a URL)"
	}
	return strconv.Quote(u.Redacted())
}

// hostOf is the value of Host: as in the URL, but an IPv6 zone means nothing to
// the replica (RFC 6874).
func hostOf(u *url.URL) string {
	name, _, zoned := strings.Cut(u.Hostname(), "%")
	if !zoned {
		return u.Host
	}
	if u.Port() == "" {
		return "[" + name + "]"
	}
	return net.JoinHostPort(name, u.Port())
}

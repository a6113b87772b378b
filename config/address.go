package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// normalURL gives a replica's base URL its one spelling, because the URL is the
// replica's identity: lower-case scheme and host, the shortest form of an IPv6
// address, no slash at the end. What isn't a base URL is returned as it is, for
// Validate to judge.
func normalURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || checkURL(text) != (complaint{}) {
		return text
	}
	host := normalHost(u.Hostname())
	if port := u.Port(); port != "" {
		host += ":" + port
	}
	return strings.ToLower(u.Scheme) + "://" + host
}

func normalHost(host string) string {
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return strings.ToLower(host)
	case ip.Is4():
		return ip.String()
	}
	// A zone is an interface's name: its case counts, its % is escaped in a URL.
	return "[" + strings.ReplaceAll(ip.String(), "%", "%25") + "]"
}

// checkURL says what keeps text from being a replica's base URL.
func checkURL(text string) complaint {
	const shape = "write http://host:port or https://host:port"
	u, err := url.Parse(text)
	switch {
	case text == "":
		return complaint{"is empty", shape}
	case err != nil:
		return complaint{clip(text) + " is not a URL", shape}
	case u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return complaint{clip(text) + " is not an http or https URL with a host", shape}
	case u.User != nil:
		return complaint{"has a user or password in the URL", shape + " and put the key under the pool's api_key"}
	case strings.Trim(u.Path, "/") == "v1":
		return complaint{clip(text) + " has the path /v1", "write the base URL without it: the path of each request is added"}
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return complaint{clip(text) + " has a path, a query or a fragment", shape}
	}
	return checkHostPort(u)
}

func checkHostPort(u *url.URL) complaint {
	if u.Hostname() == "" {
		return complaint{clip(u.String()) + " has no host", "write a name or an address before the port"}
	}
	if strings.ContainsFunc(u.Hostname(), func(r rune) bool { return r <= ' ' || r > '~' }) {
		return complaint{clip(u.Hostname()) + " is not a host name", "write it in ASCII"}
	}
	if u.Port() == "" {
		return complaint{}
	}
	if n, err := strconv.Atoi(u.Port()); err != nil || n < 1 || n > 65535 {
		return complaint{fmt.Sprintf("port %s is not in 1..65535", u.Port()), "write the port that the replica listens on"}
	}
	return complaint{}
}

// endpointOf is the URL with its port written out: two spellings of one replica
// are equal here.
func endpointOf(normal string) string {
	u, err := url.Parse(normal)
	if err != nil || u.Port() != "" {
		return normal
	}
	if u.Scheme == "https" {
		return normal + ":443"
	}
	return normal + ":80"
}

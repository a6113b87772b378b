package config

import "testing"

func TestNormalURL(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := normalURL(in); got != want {
			t.Errorf("normalURL(%q): got %q, want %q", in, got, want)
		}
		if again := normalURL(want); again != want {
			t.Errorf("normalURL(%q) is not stable: got %q", want, again)
		}
	}
	f("http://a:8000", "http://a:8000")
	f("HTTP://Replica-A.Example:8000/", "http://replica-a.example:8000")
	f("https://a", "https://a")
	f("http://[::1]:9101", "http://[::1]:9101")
	f("http://[0:0:0:0:0:0:0:1]:9101/", "http://[::1]:9101")
	f("http://[FE80::1%25eth0]:9101", "http://[fe80::1%25eth0]:9101")
	f("http://[::1]", "http://[::1]")
	f("http://10.0.0.1:80", "http://10.0.0.1:80")
	// Not base URLs: left for Validate.
	f("a:8000", "a:8000")
	f("http://a/v1", "http://a/v1")
	f("http://a:x", "http://a:x")
	f("", "")
}

func TestCheckURL(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := checkURL(in).text; got != want {
			t.Errorf("checkURL(%q): got %q, want %q", in, got, want)
		}
	}
	f("http://a", "")
	f("http://a/", "")
	f("http://[::1]:9101", "")
	f("", "is empty")
	f("10.0.0.1:8000", `"10.0.0.1:8000" is not a URL`)
	f("a:8000", `"a:8000" is not an http or https URL with a host`)
	f("ftp://a", `"ftp://a" is not an http or https URL with a host`)
	f("http://", `"http://" is not an http or https URL with a host`)
	f("http://:8000", `"http://:8000" has no host`)
	f("http://a:0", "port 0 is not in 1..65535")
	f("http://a:70000", "port 70000 is not in 1..65535")
	f("http://user:sk-1@a", "has a user or password in the URL")
	f("http://a/v1/", `"http://a/v1/" has the path /v1`)
	f("http://a/x", `"http://a/x" has a path, a query or a fragment`)
	f("http://a?x=1", `"http://a?x=1" has a path, a query or a fragment`)
	f("http://bücher:8000", `"bücher" is not a host name`)
}

func TestEndpointsAreEqual(t *testing.T) {
	f := func(a, b string, want bool) {
		t.Helper()
		if got := endpointOf(normalURL(a)) == endpointOf(normalURL(b)); got != want {
			t.Errorf("%s and %s are the same: got %v, want %v", a, b, got, want)
		}
	}
	f("http://a", "http://A:80/", true)
	f("https://a:443", "https://a", true)
	f("https://a", "http://a", false)
	f("http://[::1]", "http://[0::1]:80", true)
}

func TestIsOrigin(t *testing.T) {
	f := func(in string, want bool) {
		t.Helper()
		if got := isOrigin(in); got != want {
			t.Errorf("isOrigin(%q): got %v", in, got)
		}
	}
	f("https://chat.example", true)
	f("http://localhost:3000", true)
	f("http://[::1]:3000", true)
	f("chrome-extension://abcdef", true)
	f("https://chat.example/", false)
	f("https://chat.example/app", false)
	f("https://Chat.example", false)
	f("https://chat.example:443", false)
	f("http://chat.example:80", false)
	f("https://*.example", false)
	f("https://user@chat.example", false)
	f("chat.example", false)
	f("null", false)
	f("", false)
}

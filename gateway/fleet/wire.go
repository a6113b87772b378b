package fleet

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"

	"sluice/gateway/replica"
)

// wire is the ways to a replica: the client for requests, and a plain one for
// health checks and metrics, so that neither waits for the other.
type wire struct {
	address string
	client  *replica.Client
	checks  *http.Client
}

// maxCheckHeader is how many bytes of header a health check's answer may have.
const maxCheckHeader = 64 << 10

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

func newWire(address string, d dialSpec, dial dialFunc) (*wire, error) {
	client, err := replica.New(replica.Options{
		URL: address, TLS: d.tlsConfig(),
		ConnectTimeout: d.connect, IdleTimeout: d.idle, Dial: dial,
	})
	if err != nil {
		return nil, err
	}
	return &wire{address: address, client: client, checks: checkClient(d, dial)}, nil
}

// checkClient follows no redirect (it would leave the replica), uses no proxy,
// and opens a connection for each check; TLS sessions are resumed.
func checkClient(d dialSpec, dial dialFunc) *http.Client {
	secure := d.tlsConfig()
	if secure == nil {
		secure = &tls.Config{}
	}
	secure.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            dial,
			TLSClientConfig:        secure,
			DisableKeepAlives:      true,
			DisableCompression:     true,
			MaxResponseHeaderBytes: maxCheckHeader,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

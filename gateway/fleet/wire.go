package fleet

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

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
			DialContext:            bounded(dial, d.connect),
			TLSClientConfig:        secure,
			TLSHandshakeTimeout:    d.connect, // likewise
			DisableKeepAlives:      true,
			DisableCompression:     true,
			MaxResponseHeaderBytes: maxCheckHeader,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bounded ends a dial after timeouts.connect (0: no limit). A Transport goes on
// dialling when the check that needed the connection has given up: of a replica that
// answers nothing each check would leave a socket behind, until the kernel gives up
// minutes later.
func bounded(dial dialFunc, limit time.Duration) dialFunc {
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	if limit <= 0 {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return dial(ctx, network, address)
	}
}

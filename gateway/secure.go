package gateway

import (
	"crypto/tls"
	"errors"
	"net"

	"sluice/gateway/conn"
	"sluice/router"
)

// overTLS serves a listener's connections over TLS while it has a certificate.
// A reload may bring one, another, or take it away; connections that are open
// keep what they began with.
func overTLS(ln net.Listener, current func() *tls.Certificate) net.Listener {
	return &tlsListener{Listener: ln, current: current, config: &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		CipherSuites: []uint16{ // of TLS 1.2; AEAD only
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return current(), nil },
	}}
}

type tlsListener struct {
	net.Listener
	current func() *tls.Certificate
	config  *tls.Config
}

// Accept waits for the next connection. Its handshake is left to the server.
func (l *tlsListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil || l.current() == nil {
		return nc, err
	}
	secure := tls.Server(nc, l.config)
	if client, ok := nc.(*conn.Conn); ok {
		return &secureConn{secure, client}, nil
	}
	return secure, nil // net/http has its own answer to those who don't speak TLS
}

// secureConn is an application's connection over TLS.
type secureConn struct {
	*tls.Conn
	client *conn.Conn
}

// Handshake is the first that fasthttp calls. Somebody who speaks plain HTTP hears
// so in his own language: a connection that is closed without a word looks like a
// gateway that is down.
func (c *secureConn) Handshake() error {
	err := c.Conn.Handshake()
	var plain tls.RecordHeaderError
	if errors.As(err, &plain) && plain.Conn != nil && looksLikeHTTP(plain.RecordHeader) {
		c.client.Linger() // its request hasn't been read
		_, _ = c.client.Write(written(refuse(router.Invalid, "", "tls_required",
			"this port speaks TLS; send the request to https://"), "")) // it is closed either way
		_ = c.client.Close()
	}
	return err
}

// looksLikeHTTP tells whether a record begins as a request does, with a method:
// capital letters, then a space, if it is that short.
func looksLikeHTTP(record [5]byte) bool {
	for i, ch := range record {
		if ch == ' ' {
			return i >= len("GET")
		}
		if ch < 'A' || ch > 'Z' {
			return false
		}
	}
	return true
}

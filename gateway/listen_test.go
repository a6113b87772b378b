package gateway

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sluice/config"
	"sluice/gateway/gatewaytest"
)

func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	cert, _ := gatewaytest.Certificate(t)
	return cert
}

func otherKey(t *testing.T) string {
	t.Helper()
	_, key := gatewaytest.CertificateFiles(t, certificate(t))
	return key
}

// overwrite puts another certificate into the same files.
func overwrite(t *testing.T, certFile, keyFile string) tls.Certificate {
	t.Helper()
	cert := certificate(t)
	c, k := gatewaytest.CertificateFiles(t, cert)
	for from, to := range map[string]string{c: certFile, k: keyFile} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	return cert
}

func secureDoors(cert, key string) string {
	return `listeners: {data: {address: "127.0.0.1:0", tls: {cert: ` + cert + `, key: ` + key + `}}, ops: {address: "127.0.0.1:0"}, control: {address: "127.0.0.1:0"}}` + "\n"
}

// serves tells which certificate the data listener shows; "" : it speaks plainly.
func (r *rig) serves() string {
	r.t.Helper()
	nc, err := tls.Dial("tcp", r.data, &tls.Config{InsecureSkipVerify: true}) // the test compares certificates itself
	if err != nil {
		return ""
	}
	defer nc.Close()
	return string(nc.ConnectionState().PeerCertificates[0].Raw)
}

// TestCertificatesAreReadAgain though no setting has changed; a bad one changes
// nothing; TLS comes and goes; an open connection goes on through all of it.
func TestCertificatesAreReadAgain(t *testing.T) {
	rep := gatewaytest.NewReplica(t, shortAnswer...)
	first := certificate(t)
	certFile, keyFile := gatewaytest.CertificateFiles(t, first)
	policy := poolPolicyYAML(4, rep.URL())
	r := startFile(t, policy)
	plain := gatewaytest.Connect(t, r.data)
	asks := func(c *gatewaytest.Client) {
		t.Helper()
		if err := c.Send(gatewaytest.Request("POST", "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", false))); err != nil {
			t.Fatal(err)
		}
		if answer, err := c.ReadAnswer(); err != nil || answer.Status != 200 {
			t.Errorf("an open connection: %+v, %v", answer, err)
		}
	}
	asks(plain)
	reload := func(content string) []string {
		t.Helper()
		r.writeRaw(content)
		done, err := r.g.Reload()
		if err != nil {
			t.Fatal(err)
		}
		return done.Changes
	}
	reload(secureDoors(certFile, keyFile) + policy)
	if got := r.serves(); got != string(first.Certificate[0]) {
		t.Error("TLS was switched on, and the certificate is not served")
	}
	secure := gatewaytest.ConnectTLS(t, r.data, &tls.Config{InsecureSkipVerify: true})
	asks(secure)
	second := overwrite(t, certFile, keyFile)
	if changes := reload(secureDoors(certFile, keyFile) + policy); len(changes) != 1 || !strings.HasPrefix(changes[0], "listeners.data.tls: new certificate, valid until 2") {
		t.Errorf("changes %q", changes)
	}
	if got := r.serves(); got != string(second.Certificate[0]) {
		t.Error("the new certificate is not served")
	}
	if err := os.WriteFile(certFile, []byte("half a certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.g.Reload(); err == nil || r.serves() != string(second.Certificate[0]) {
		t.Errorf("a bad certificate: error %v, and the last good one must be served", err)
	}
	reload(loopbackDoors + policy)
	asks(plain)
	asks(secure)
	if r.serves() != "" || r.post(gatewaytest.ChatBody("m", "hi", false)).Status != 200 {
		t.Error("TLS was switched off, and is still there")
	}
}

func TestListenIsAllOrNone(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	l := config.Default().Listeners
	l.Data.Address, l.Ops.Address, l.Control.Address = "127.0.0.1:0", "127.0.0.1:0", taken.Addr().String()
	_, err = Listen(l)
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "listeners.control.address") || !strings.Contains(err.Error(), "another process") {
		t.Errorf("got %v", err)
	}
	for address, want := range map[string]string{"127.0.0.1:99999": "listeners.data.address", "192.0.2.1:80": "no interface"} {
		l.Data.Address = address
		if _, err := Listen(l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", address, err, want)
		}
	}
}

// TestCredentialsTellEachFault, all at once.
func TestCredentialsTellEachFault(t *testing.T) {
	dir := t.TempDir()
	noPEM := filepath.Join(dir, "cert.pem")
	if err := os.WriteFile(noPEM, pem.EncodeToMemory(&pem.Block{Type: "NOTHING"}), 0o600); err != nil {
		t.Fatal(err)
	}
	var l config.Listeners
	l.Data.TLS = config.TLS{Cert: filepath.Join(dir, "gone.pem"), Key: "k"}
	l.Ops.TLS = config.TLS{Cert: noPEM, Key: noPEM}
	l.Control.Token.File = filepath.Join(dir, "token")
	_, err := readCredentials(l)
	for _, want := range []string{"listeners.data.tls: ", "listeners.ops.tls: ", "listeners.control.token.file: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

// A client that speaks plain HTTP to a port with TLS hears so; one that speaks
// something else is closed, and so are its like on the other listeners.
func TestPlainHTTPToATLSPort(t *testing.T) {
	rep := gatewaytest.NewReplica(t, shortAnswer...)
	cert, key := gatewaytest.CertificateFiles(t, certificate(t))
	r := startFile(t, poolPolicyYAML(4, rep.URL()))
	r.writeRaw(strings.Replace(secureDoors(cert, key), `ops: {address: "127.0.0.1:0"}`, `ops: {address: "127.0.0.1:0", tls: {cert: `+cert+`, key: `+key+`}}`, 1) + poolPolicyYAML(4, rep.URL()))
	if _, err := r.g.Reload(); err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string]string{
		"GET":    gatewaytest.Request("GET", "/v1/models", ""),
		"POST":   gatewaytest.Request("POST", "/v1/chat/completions", plainBody),
		"DELETE": gatewaytest.Request("DELETE", "/v1/models", ""),
		"large":  gatewaytest.Request("POST", "/v1/chat/completions", gatewaytest.ChatBody("m", strings.Repeat("x", 1<<20), false)),
	} {
		answer := gatewaytest.Target{Address: r.data}.Fetch(t, raw)
		if answer.Status != 400 || !strings.Contains(string(answer.Body), "TLS") || !strings.HasPrefix(string(answer.Body), openAIError) || answer.Ending != gatewaytest.Whole {
			t.Errorf("%s: answer %d, %v, %v: %s", name, answer.Status, answer.Ending, answer.Err, answer.Body)
		}
	}
	for _, raw := range []string{"\x00\x01\x02\x03\x04\x05\x06", "hello world", "GET\r\n\r\n"} {
		if answer := (gatewaytest.Target{Address: r.data}).Fetch(t, raw); answer.Status != 0 {
			t.Errorf("%q: answer %d: %s", raw, answer.Status, answer.Body)
		}
	}
	if answer := gatewaytest.Get(t, r.ops, "/metrics"); answer.Status != 400 {
		t.Errorf("the ops listener: answer %d", answer.Status)
	}
	if r.serves() == "" {
		t.Error("TLS is not served any more")
	}
}

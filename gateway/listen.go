package gateway

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"sluice/config"
)

// Listeners are the open doors of a gateway: for applications, for scrapes and
// probes, for operators.
type Listeners struct {
	Data, Ops, Control net.Listener
}

// Listen opens the doors that a configuration names, all or none.
func Listen(l config.Listeners) (*Listeners, error) {
	var ls Listeners
	for _, door := range []struct {
		name    string
		address string
		open    *net.Listener
	}{
		{"data", l.Data.Address, &ls.Data},
		{"ops", l.Ops.Address, &ls.Ops},
		{"control", l.Control.Address, &ls.Control},
	} {
		ln, err := net.Listen("tcp", door.address)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open listeners.%s.address: %w%s", door.name, err, hint(err)), ls.Close())
		}
		*door.open = ln
	}
	return &ls, nil
}

// hint says what usually lies behind an error of net.Listen.
func hint(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "; another process listens there: stop it, or choose another port"
	case errors.Is(err, syscall.EACCES):
		return "; ports below 1024 need a privilege: choose a higher one"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "; no interface of this machine has that address"
	}
	return ""
}

// Close closes the doors that are open.
func (ls *Listeners) Close() error {
	var errs []error
	for _, ln := range []net.Listener{ls.Data, ls.Ops, ls.Control} {
		if ln != nil {
			errs = append(errs, ln.Close())
		}
	}
	return errors.Join(errs...)
}

// credentials are what the listeners show and ask for. They are read from files
// again at each reload, since those may change while no setting does; like a
// policy they are never changed, only swapped.
type credentials struct {
	data, ops, control *tls.Certificate // nil: no TLS
	token              string           // of the control listener; "" : loopback only
}

// readCredentials reads all of them; what is wrong is reported at once.
func readCredentials(l config.Listeners) (*credentials, error) {
	token, err := l.Control.Token.Read()
	if err != nil {
		err = fmt.Errorf("listeners.control.token.%w", err)
	}
	data, dataErr := readCertificate("data", l.Data.TLS)
	ops, opsErr := readCertificate("ops", l.Ops.TLS)
	control, controlErr := readCertificate("control", l.Control.TLS)
	return &credentials{data, ops, control, token}, errors.Join(dataErr, opsErr, controlErr, err)
}

func readCertificate(listener string, files config.TLS) (*tls.Certificate, error) {
	if files.Cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		return nil, fmt.Errorf("listeners.%s.tls: certificate %q with key %q: %w", listener, files.Cert, files.Key, err)
	}
	return &pair, nil
}

// diff says which files have other contents than before, as config.Diff says it
// of settings.
func (c *credentials) diff(old *credentials) []string {
	var changes []string
	for _, d := range []struct {
		listener string
		old, now *tls.Certificate
	}{{"data", old.data, c.data}, {"ops", old.ops, c.ops}, {"control", old.control, c.control}} {
		if d.old != nil && d.now != nil && !d.old.Leaf.Equal(d.now.Leaf) {
			changes = append(changes, fmt.Sprintf("listeners.%s.tls: new certificate, valid until %s",
				d.listener, d.now.Leaf.NotAfter.UTC().Format(time.RFC3339)))
		}
	}
	if old.token != c.token {
		changes = append(changes, "listeners.control.token: changed")
	}
	return changes
}

package gateway

import (
	"errors"
	"fmt"
	"net"

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
			return nil, errors.Join(fmt.Errorf("listeners.%s.address: %w; is another process there?", door.name, err), ls.Close())
		}
		*door.open = ln
	}
	return &ls, nil
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

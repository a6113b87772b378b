package vllmsim

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// faultHeader asks for a fault of this one request, in ParseFault's words.
const faultHeader = "X-Sim-Fault"

// faults is what has been injected and not healed.
type faults struct {
	mu     sync.Mutex // guards active
	active []*injected
}

// injected is one fault and whom it has met.
type injected struct {
	Fault
	met int // requests that it could have hit
	hit int
}

// strikes says whether the fault hits the next request.
func (f *injected) strikes() bool {
	if f.Times > 0 && f.hit == f.Times {
		return false
	}
	f.met++
	if f.Share > 0 && int(float64(f.met)*f.Share) == int(float64(f.met-1)*f.Share) {
		return false
	}
	f.hit++
	return true
}

// add remembers a fault.
func (s *faults) add(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active = append(s.active, &injected{Fault: f})
}

// clear forgets all.
func (s *faults) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active = nil
}

// next is the fault of the next request: the first that strikes.
func (s *faults) next() Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.active {
		if !f.wide() && f.strikes() {
			return f.Fault
		}
	}
	return Fault{}
}

// String lists them, a line each.
func (s *faults) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, f := range s.active {
		fmt.Fprintf(&b, "%s hit=%d\n", f.Fault, f.hit)
	}
	return b.String()
}

// Inject makes something go wrong from now on, until Heal. The error is a fault
// that makes no sense.
func (s *Server) Inject(f Fault) error {
	setDefault(&f.Status, http.StatusServiceUnavailable)
	setDefault(&f.Factor, 1)
	if err := f.check(); err != nil {
		return err
	}
	s.faults.add(f)
	if f.wide() {
		s.befall(f)
	}
	return nil
}

// befall does to the whole replica what f says.
func (s *Server) befall(f Fault) {
	s.options.Logger.Debug("fault", "fault", f.String())
	switch f.Kind {
	case Hang:
		s.engine.hang(true)
	case Slow:
		s.engine.slow(f.Factor)
	case Refuse:
		_ = s.life.refuse(true) // a door can always be shut
	case Crash:
		s.crash()
	case EngineDead:
		s.loseEngine()
	}
}

// Heal ends all faults: a hung engine goes on, a slow one is as fast as
// modelled, the port is open again unless the replica still warms up. A replica
// that crashed, or whose engine is dead, stays so. The error is a port that somebody else has taken meanwhile.
func (s *Server) Heal() error {
	s.faults.clear()
	s.engine.slow(1)
	s.engine.hang(false)
	return s.life.refuse(false)
}

// faultOf is the fault that hits a request: what it asks for itself, or what was
// injected.
func (s *Server) faultOf(r *http.Request) (Fault, error) {
	asked := r.Header.Get(faultHeader)
	if asked == "" {
		return s.faults.next(), nil
	}
	f, err := ParseFault(asked)
	if err == nil && kinds[f.Kind].scope == replicas {
		err = fmt.Errorf("fault %s hits the whole replica: inject it at %s", f.Kind, faultsPath)
	}
	if err != nil {
		return Fault{}, badRequest("", "%s: %v", faultHeader, err)
	}
	return f, nil
}

// faultsPath is where faults are injected (POST, a line each), listed (GET) and
// healed (DELETE). It is no path of vLLM's; like /health it wants no API key.
// docs/operations.md tells users.
const faultsPath = "/sim/faults"

// control answers faultsPath.
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	var err error
	switch r.Method {
	case http.MethodGet:
	case http.MethodDelete:
		err = s.Heal()
	case http.MethodPost:
		err = s.injectAll(io.LimitReader(r.Body, maxFaults))
	default:
		http.Error(w, "want GET, POST or DELETE", http.StatusMethodNotAllowed)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprint(w, s.faults.String())
}

const maxFaults = 64 << 10 // bytes of a body of faults

// injectAll reads all lines before it injects the first.
func (s *Server) injectAll(body io.Reader) error {
	text, err := io.ReadAll(body)
	if err != nil {
		return fmt.Errorf("read faults: %w", err)
	}
	var all []Fault
	for _, line := range strings.Fields(string(text)) {
		f, err := ParseFault(line)
		if err != nil {
			return err
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		return fmt.Errorf("the body has no fault; a line each, such as %q", "reset:after=20")
	}
	for _, f := range all {
		if err := s.Inject(f); err != nil {
			return err
		}
	}
	return nil
}

package field

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/config"
	"sluice/gateway"
	gt "sluice/gateway/gatewaytest"
)

// asGateway makes the test binary be a gateway: it names the configuration file.
// asksDNS names the server (host:port) that it looks names up at.
const (
	asGateway = "SLUICE_TEST_FIELD_GATEWAY"
	asksDNS   = "SLUICE_TEST_FIELD_DNS"
)

func TestMain(m *testing.M) {
	if file := os.Getenv(asGateway); file != "" {
		if server := os.Getenv(asksDNS); server != "" {
			net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, server)
			}}
		}
		if err := serve(file); err != nil {
			slog.Error("serve", "err", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	// More tests at once than there are processors, unless somebody has said how many.
	if n := flag.Lookup("test.parallel"); n.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := n.Value.Set(testsAtOnce); err != nil {
			panic("BUG: " + err.Error())
		}
	}
	os.Exit(m.Run())
}

// serve is `sluice serve`: a signal to stop, a second to hurry; SIGHUP and a
// change of the file reload it.
func serve(file string) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
	watcher := config.NewWatcher(file)
	load := func() (*config.Config, error) {
		cfg, err := config.Load(file, nil, nil)
		if err == nil {
			watcher.Follow(cfg.Files())
		}
		return cfg, err
	}
	cfg, err := load()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	g, err := gateway.New(gateway.Options{Config: cfg, Load: load, Log: log, AccessLog: os.Stdout})
	if err != nil {
		return err
	}
	ls, err := gateway.Listen(cfg.Listeners)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	hurry := make(chan struct{})
	reload := func() { _, _ = g.Reload() } // it logs what it finds
	go watcher.Run(ctx, 100*time.Millisecond, reload)
	go obey(signals, reload, stop, sync.OnceFunc(func() { close(hurry) }))
	log.Info("serving", "data", ls.Data.Addr().String(), "ops", ls.Ops.Addr().String(), "control", ls.Control.Addr().String())
	return g.Serve(ctx, ls, hurry)
}

// obey does what signals say, until the process ends.
func obey(signals <-chan os.Signal, reload, stop, hurry func()) {
	stopped := false
	for s := range signals {
		switch {
		case s == syscall.SIGHUP:
			reload()
		case stopped:
			hurry()
		default:
			stopped = true
			stop()
		}
	}
}

// process is a gateway that runs as a process of its own.
type process struct {
	t                  testing.TB
	cmd                *exec.Cmd
	data, ops, control string // host:port
	log                output // what operators are told, at level debug
	access             output // a line for each request that has ended
	exited             chan struct{}
}

// output collects a stream of a process.
type output struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

var servingLine = regexp.MustCompile(`msg=serving data=(\S+) ops=(\S+) control=(\S+)`)

// launch runs a gateway on a file and waits until its doors are open. env are
// further variables, "NAME=value".
func launch(t testing.TB, file string, env ...string) *process {
	t.Helper()
	p := &process{t: t, exited: make(chan struct{}), cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), asGateway+"="+file, "GORACE=atexit_sleep_ms=0")
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stderr, p.cmd.Stdout = &p.log, &p.access
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // ends looks at the code
	}()
	t.Cleanup(p.end)
	eventually(t, "the gateway serves", func() bool {
		m := servingLine.FindStringSubmatch(p.log.String())
		if m != nil {
			p.data, p.ops, p.control = m[1], m[2], m[3]
		}
		return m != nil || p.over()
	})
	if p.over() {
		t.Fatalf("the gateway doesn't start: %s", p.log.String())
	}
	return p
}

func (p *process) over() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// say sends bytes and reads all that comes back until the connection is closed,
// however long that takes: for those who wait while a test does much beside.
func (p *process) say(raw string) string {
	conn, err := net.Dial("tcp", p.data)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, raw); err != nil {
		return err.Error()
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return err.Error()
	}
	return string(answer)
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Error(err)
	}
}

// ends waits for the process to end well. One that raced or panicked doesn't.
func (p *process) ends() {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(gt.Patience):
		p.t.Error("the gateway doesn't stop")
		_ = p.cmd.Process.Kill()
		<-p.exited
		return
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("the gateway ended with code %d:\n%s", code, tail(p.log.String()))
	}
}

// end stops the gateway without grace.
func (p *process) end() {
	if !p.over() {
		p.signal(syscall.SIGTERM)
		eventually(p.t, "it has heard the first signal", func() bool {
			return p.over() || strings.Contains(p.log.String(), "msg=draining")
		})
		p.signal(syscall.SIGTERM)
	}
	p.ends()
}

// tail is the end of a long text.
func tail(s string) string { return s[max(0, len(s)-4000):] }

// eventually waits until a condition holds; what doesn't within Patience fails.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	late := time.After(gt.Patience)
	for !holds() {
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("not within %v: %s", gt.Patience, what)
		}
	}
}

package conn

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// An event that was still under way when its connection was closed must not
// reach the next one in the same slot.
func TestSlotsAreToldApart(t *testing.T) {
	s := newSite(t, transports[0], Options{})
	first := s.connect()
	w, index := s.ln.watcher, first.conn.slot.index
	old := w.slots[index].generation
	if w.at(index, old) != first.conn {
		t.Fatal("the first connection isn't in its slot")
	}
	first.conn.Close()
	if c := w.at(index, old); c != nil {
		t.Fatal("a closed connection is still in its slot")
	}
	second := s.connect()
	if second.conn.slot.index != index {
		t.Fatalf("slot %d isn't used again", index)
	}
	if c := w.at(index, old); c != nil {
		t.Fatal("an old event finds the next connection")
	}
	if w.at(index, old+1) != second.conn {
		t.Fatal("a new event doesn't")
	}
}

func TestWatcherOutlivesItsListener(t *testing.T) {
	s := newSite(t, transports[0], Options{})
	p, other := s.connect(), s.connect()
	s.ln.Close()
	watch := newWatching(p.conn)
	p.tcp.Close()
	watch.wait(t)
	p.conn.Close()
	p.conn.Close() // gives back its slot once
	if err := s.ln.watcher.ready.Control(func(uintptr) {}); err != nil {
		t.Fatalf("ended while a connection lives: %v", err)
	}
	other.conn.Close()
	if err := s.ln.watcher.ready.Control(func(uintptr) {}); err == nil {
		t.Fatal("lives on after the last connection")
	}
	if _, err := s.ln.watcher.wait(make([]unix.EpollEvent, 1)); err == nil {
		t.Fatal("waits on after the last connection")
	}
}

// Where epoll refuses, the background read takes over, and somebody hears of it.
func TestEpollFailureFallsBack(t *testing.T) {
	breaks := map[string]func(*watcher){
		"epoll_ctl": func(w *watcher) { w.fd = -1 },
		"closed":    func(w *watcher) { w.close() },
	}
	for name, breakIt := range breaks {
		t.Run(name, func(t *testing.T) {
			tcp, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var heard error
			ln, err := NewListener(tcp, Options{OnAcceptError: func(err error) { heard = err }})
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			breakIt(ln.watcher)
			client, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			server, err := ln.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if heard == nil || !strings.Contains(heard.Error(), "background") {
				t.Errorf("heard %v, want to hear of the background read", heard)
			}
			w := newWatching(Of(server))
			client.Close()
			w.wait(t)
			server.Close()
			if w := ln.watcher; len(w.unused) != len(w.slots) {
				t.Errorf("%d of %d slots are free", len(w.unused), len(w.slots))
			}
		})
	}
}

// The watching of a connection costs no goroutine, armed or not.
func TestNoGoroutines(t *testing.T) {
	s := newSite(t, transports[0], Options{})
	s.settle()
	before := runtime.NumGoroutine()
	for range 100 {
		newWatching(s.connect().conn)
	}
	if after := runtime.NumGoroutine(); after > before+10 { // others' come and go
		t.Errorf("%d goroutines for 100 watches", after-before)
	}
}

// A Unix socket is watched like a TCP one.
func TestUnixSocket(t *testing.T) {
	plain, err := net.Listen("unix", t.TempDir()+"/sluice.sock")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := NewListener(plain, Options{OnAcceptError: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("unix", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	w := newWatching(Of(server))
	client.Close()
	w.wait(t)
}

const starve = "SLUICE_TEST_STARVE"

// A server that has run out of descriptors serves again when some are free. It
// is a process of its own, as the limit is a process's.
func TestAcceptSurvivesEMFILE(t *testing.T) {
	if os.Getenv(starve) != "" {
		echoWithFewDescriptors(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestAcceptSurvivesEMFILE$")
	cmd.Env = append(os.Environ(), starve+"=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer stdin.Close() // ends it

	lines := bufio.NewScanner(stdout)
	lines.Scan()
	address := lines.Text()
	var held []net.Conn
	for range 64 {
		held = append(held, dial(t, address))
	}
	if lines.Scan(); lines.Text() != "EMFILE" {
		t.Fatalf("the server says %q, want EMFILE", lines.Text())
	}
	for _, c := range held {
		c.Close()
	}
	c := dial(t, address)
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	send(t, c, request)
	receive(t, c, request)
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// echoWithFewDescriptors echoes until its standard input ends. It says its
// address, and when it first runs out.
func echoWithFewDescriptors(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	said := false
	ln, err := NewListener(plain, Options{OnAcceptError: func(err error) {
		if errors.Is(err, syscall.EMFILE) && !said {
			said = true
			fmt.Println("EMFILE")
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	go echo(ln)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 32, Max: 32}); err != nil {
		t.Fatal(err)
	}
	fmt.Println(ln.Addr())
	io.Copy(io.Discard, os.Stdin)
}

func echo(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			io.Copy(c, c)
		}()
	}
}

// What a client doesn't take stays with the replica, not in our kernel: by
// default that would hold almost 4 MiB for each stalled client.
func TestKernelHoldsLittle(t *testing.T) {
	s := newSite(t, transports[0], Options{WriteStall: 20 * time.Millisecond})
	p := s.connect()
	if err := writeUntilError(p.server); !errors.Is(err, ErrWriteStall) {
		t.Fatal(err)
	}
	raw, err := p.conn.nc.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var held int
	raw.Control(func(fd uintptr) { held, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	if err != nil || held > 4*notSentLowat {
		t.Errorf("the kernel holds %d bytes (%v), want at most %d", held, err, 4*notSentLowat)
	}
}

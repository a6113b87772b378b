package vllmsim

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

func anyDoor(t *testing.T) *door {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return newDoor(ln)
}

// Warm-up lasts as long as it is modelled to.
func TestWarmUpEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := anyDoor(t)
		defer d.Close()
		var l life
		defer l.end()
		l.begin(d, Options{WarmUp: time.Hour, Speed: 60})
		is := func(open bool) {
			t.Helper()
			synctest.Wait()
			if inner, _, _ := d.state(); (inner != nil) != open {
				t.Errorf("the door is open: %t, want %t", inner != nil, open)
			}
		}
		is(false)
		time.Sleep(59 * time.Second) // virtual
		is(false)
		time.Sleep(time.Second)
		is(true)
	})
}

// The port is open when the replica is warm and no fault refuses connections,
// in whatever order that comes and goes.
func TestPortIsOpenOnlyWhenWarmAndWell(t *testing.T) {
	d := anyDoor(t)
	defer d.Close()
	var l life
	defer l.end()
	is := func(open bool, when string) {
		t.Helper()
		c, err := net.Dial("tcp", d.Addr().String())
		if err == nil {
			c.Close()
		}
		if (err == nil) != open {
			t.Errorf("%s: the port is open: %t, want %t", when, err == nil, open)
		}
	}
	l.refuse(true)
	l.begin(d, Options{WarmUp: time.Hour, Speed: 1})
	is(false, "refusing from the start")
	l.refuse(false)
	is(false, "healed while it warms up")
	l.refuse(true)
	l.warmedUp()
	is(false, "warm, but refusing")
	l.refuse(false)
	is(true, "healed")
	l.refuse(false)
	is(true, "healed twice")
}

// Where two open a door at once, neither fails.
func TestPortIsOpenedByTwo(t *testing.T) {
	d := anyDoor(t)
	defer d.Close()
	for range 100 {
		d.shut()
		other := make(chan error, 1)
		go func() { other <- d.open() }()
		if err := d.open(); err != nil {
			t.Fatal(err)
		}
		if err := <-other; err != nil {
			t.Fatal(err)
		}
	}
}

// An engine that dies when the replica has been told to stop doesn't crash it
// later.
func TestNoCrashAfterTheEnd(t *testing.T) {
	s, _ := start(t, Options{})
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := s.Inject(Fault{Kind: EngineDead}); err != nil {
		t.Fatal(err)
	}
	if n := len(s.life.timers); n != 0 {
		t.Errorf("%d timers run on", n)
	}
}

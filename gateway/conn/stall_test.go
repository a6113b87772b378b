package conn

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func TestWriteStallCutsAClientThatStopsReading(t *testing.T) {
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			s := newSite(t, tr, Options{WriteStall: 20 * time.Millisecond})
			p := s.connect()
			err := writeUntilError(p.server)
			if !errors.Is(err, ErrWriteStall) || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("got %v, want %v", err, ErrWriteStall)
			}
			if n, err := p.conn.Write([]byte("more")); n != 0 || !errors.Is(err, ErrWriteStall) {
				t.Fatalf("write after the stall: got %d, %v, want nothing tried", n, err)
			}
			p.server.Close()
			if !tr.background { // bareConn can't reset
				wantCut(t, p.tcp)
			}
		})
	}
}

// wantCut fails the test when the client could take its answer for complete.
func wantCut(t *testing.T, client net.Conn) {
	t.Helper()
	if _, err := io.Copy(io.Discard, client); err == nil {
		t.Error("the client read a proper end, want a reset")
	}
}

func writeUntilError(c net.Conn) error {
	event := bytes.Repeat([]byte("x"), 8<<10)
	for {
		if _, err := c.Write(event); err != nil {
			return err
		}
	}
}

// One write that takes 100 times the limit, to a client that reads a little
// every now and then.
func TestWriteStallSparesASlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, client := inMemory(t, Options{WriteStall: 30 * time.Second})
		body := make([]byte, 100<<10)
		written := make(chan error, 1)
		start := time.Now()
		go func() {
			n, err := c.Write(body)
			if err == nil && n != len(body) {
				err = io.ErrShortWrite
			}
			written <- err
		}()
		for range 100 {
			time.Sleep(29 * time.Second)
			io.ReadFull(client, make([]byte, 1<<10))
		}
		if err := <-written; err != nil {
			t.Fatalf("cut after %s: %v", time.Since(start), err)
		}
	})
}

func TestWriteStallLimit(t *testing.T) {
	f := func(name string, last, least, most time.Duration) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, client := inMemory(t, Options{WriteStall: 40 * time.Second})
				go io.ReadFull(client, make([]byte, 2))
				c.Write([]byte{1})
				time.Sleep(last)
				c.Write([]byte{2})
				start := time.Now()
				_, err := c.Write([]byte{3})
				if d := time.Since(start); !errors.Is(err, ErrWriteStall) || d < least || d > most {
					t.Errorf("got %v after %s, want a stall after %s to %s", err, d, least, most)
				}
			})
		})
	}
	f("just after another write", 9*time.Second, 30*time.Second, 40*time.Second)
	f("a while after", 11*time.Second, 40*time.Second, 40*time.Second)
	f("long after", time.Hour, 40*time.Second, 40*time.Second)
}

func TestNoWriteStallByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, client := inMemory(t, Options{})
		time.AfterFunc(time.Hour, func() { io.ReadFull(client, make([]byte, 1)) })
		if _, err := c.Write([]byte{1}); err != nil {
			t.Error(err)
		}
	})
}

func TestOwnWriteDeadlineRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, client := inMemory(t, Options{WriteStall: 30 * time.Second})
		start := time.Now()
		c.SetWriteDeadline(start.Add(time.Minute))
		_, err := c.Write([]byte{1})
		if errors.Is(err, ErrWriteStall) || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("got %v after %s, want the caller's deadline after a minute", err, time.Since(start))
		}
		c.SetWriteDeadline(time.Time{})
		go io.ReadFull(client, make([]byte, 1))
		if _, err := c.Write([]byte{1}); err != nil {
			t.Errorf("with the deadline taken back: %v", err)
		}
		if _, err := c.Write([]byte{1}); !errors.Is(err, ErrWriteStall) {
			t.Errorf("got %v, want %v", err, ErrWriteStall)
		}
	})
}

// A write that is under way is ended by a deadline set meanwhile.
func TestOwnWriteDeadlineEndsAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, client := inMemory(t, Options{WriteStall: 30 * time.Second})
		written := make(chan error, 1)
		go func() {
			_, err := c.Write([]byte{1, 2})
			written <- err
		}()
		io.ReadFull(client, make([]byte, 1))
		synctest.Wait()
		c.SetWriteDeadline(time.Unix(1, 0))
		if err := <-written; errors.Is(err, ErrWriteStall) || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v, want the caller's deadline", err)
		}
	})
}

// The close of a stalled TLS connection must not wait for its close_notify.
func TestStalledTLSClosesAtOnce(t *testing.T) {
	s := newSite(t, transports[1], Options{WriteStall: 20 * time.Millisecond})
	p := s.connect()
	if err := writeUntilError(p.server); !errors.Is(err, ErrWriteStall) {
		t.Fatal(err)
	}
	start := time.Now()
	p.server.(*tls.Conn).Close()
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("took %s", d)
	}
}

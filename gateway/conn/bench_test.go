package conn

import (
	"io"
	"net"
	"slices"
	"testing"
	"time"
)

// What a request pays for being watched.
func BenchmarkWatch(b *testing.B) {
	for _, tr := range transports {
		if tr.tls {
			continue
		}
		b.Run(tr.name, func(b *testing.B) {
			c := newSite(b, tr, Options{}).connect().conn
			gone := func() {}
			b.ReportAllocs()
			for b.Loop() {
				c.Watch(gone)
				c.Unwatch()
			}
		})
	}
}

// From the client's close to the callback.
func BenchmarkDeparture(b *testing.B) {
	s := newSite(b, transports[0], Options{})
	var took []time.Duration
	for b.Loop() {
		b.StopTimer()
		p := s.connect()
		told := make(chan time.Time, 1)
		p.conn.Watch(func() { told <- time.Now() })
		b.StartTimer()
		left := time.Now()
		p.tcp.Close()
		took = append(took, (<-told).Sub(left))
		p.conn.Close()
	}
	reportQuantiles(b, took)
}

// What a connection pays once: accepted and closed bare, and wrapped.
func BenchmarkAccept(b *testing.B) {
	f := func(name string, wrap func(net.Listener) net.Listener) {
		b.Run(name, func(b *testing.B) {
			plain, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			ln := wrap(plain)
			defer ln.Close()
			b.ReportAllocs()
			var took []time.Duration
			for b.Loop() {
				client, err := net.Dial("tcp", ln.Addr().String())
				if err != nil {
					b.Fatal(err)
				}
				start := time.Now()
				server, err := ln.Accept()
				if err != nil {
					b.Fatal(err)
				}
				server.Close()
				took = append(took, time.Since(start))
				client.Close()
			}
			reportQuantiles(b, took)
		})
	}
	f("net", func(ln net.Listener) net.Listener { return ln })
	f("conn", func(ln net.Listener) net.Listener {
		l, err := NewListener(ln, Options{})
		if err != nil {
			b.Fatal(err)
		}
		return l
	})
}

func reportQuantiles(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
}

// What a write pays for its limit: an event of 200 bytes, read by a client.
func BenchmarkWrite(b *testing.B) {
	f := func(name string, size int, end func(pair) net.Conn) {
		b.Run(name, func(b *testing.B) {
			p := newSite(b, transports[0], Options{WriteStall: 30 * time.Second}).connect()
			go io.Copy(io.Discard, p.client)
			c, event := end(p), make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Write(event); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	bare := func(p pair) net.Conn { return p.conn.nc }
	limited := func(p pair) net.Conn { return p.conn }
	f("event/net", 200, bare)
	f("event/conn", 200, limited)
	f("1MiB/net", 1<<20, bare)
	f("1MiB/conn", 1<<20, limited)
}

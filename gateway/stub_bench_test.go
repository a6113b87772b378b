package gateway

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
)

// stub is a replica that costs as little as can be, so that the core it shares
// with the load is no bottleneck. It answers chat requests, streamed or not.
type stub struct {
	address string
	events  atomic.Int64 // of a stream
	gap     atomic.Int64 // between them, ns
}

func startStub(b *testing.B) *stub {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &stub{address: ln.Addr().String()}
	s.setEvents(3, time.Millisecond)
	b.Cleanup(func() { ln.Close() })
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go s.serve(nc)
		}
	}()
	return s
}

func (s *stub) setEvents(n int, gap time.Duration) {
	s.events.Store(int64(n))
	s.gap.Store(int64(gap))
}

var (
	stubAnswer = gatewaytest.ChatAnswer(strings.Repeat("word ", 40), "stop", 400, 40)
	stubRole   = gatewaytest.SSEHead + gatewaytest.Chunk(gatewaytest.Role)
	stubEvent  = gatewaytest.Chunk(gatewaytest.Content(" word"))
	stubEnd    = gatewaytest.Chunk(gatewaytest.Finish("", "stop")) + gatewaytest.Chunk(gatewaytest.Usage(400, 40)) +
		gatewaytest.Chunk(gatewaytest.Done) + gatewaytest.FinalChunk
)

func (s *stub) serve(nc net.Conn) {
	defer nc.Close()
	in := bufio.NewReader(nc)
	for {
		streamed, err := s.read(in)
		if err != nil {
			return
		}
		if !streamed {
			_, err = io.WriteString(nc, stubAnswer)
		} else {
			err = s.stream(nc)
		}
		if err != nil {
			return
		}
	}
}

// read takes one request and says whether it wants a stream.
func (s *stub) read(in *bufio.Reader) (streamed bool, err error) {
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return false, err
		}
		if len(line) == 2 {
			break
		}
		if name := "content-length: "; len(line) > len(name) && strings.EqualFold(string(line[:len(name)]), name) {
			if length, err = strconv.Atoi(strings.TrimSpace(string(line[len(name):]))); err != nil {
				return false, err
			}
		}
	}
	body, err := in.Peek(min(length, in.Size()))
	streamed = bytes.Contains(body, []byte(`"stream":true`))
	if err != nil {
		return false, fmt.Errorf("body: %w", err)
	}
	_, err = in.Discard(length)
	return streamed, err
}

func (s *stub) stream(nc net.Conn) error {
	if _, err := io.WriteString(nc, stubRole); err != nil {
		return err
	}
	tick := time.NewTicker(time.Duration(s.gap.Load()))
	defer tick.Stop()
	for range s.events.Load() {
		<-tick.C
		if _, err := io.WriteString(nc, stubEvent); err != nil {
			return err
		}
	}
	_, err := io.WriteString(nc, stubEnd)
	return err
}

package gateway

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/account"
	"sluice/gateway/gatewaytest"
)

// serveOnce runs a gateway of its own and gives what a test needs to break it.
func serveOnce(t *testing.T, ctx context.Context, policy string) (*Listeners, *Gateway, <-chan error) {
	t.Helper()
	cfg := parse(t, loopbackDoors+policy)
	g, err := New(Options{Config: cfg, Log: slog.New(slog.DiscardHandler), Build: account.Build{Version: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	ls, err := Listen(cfg.Listeners)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- g.Serve(ctx, ls, nil) }()
	return ls, g, done
}

// TestStoppedBeforeItServes: a signal that comes while the process starts.
func TestStoppedBeforeItServes(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		ls, _, done := serveOnce(t, ctx, onePool(1, rep))
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("got %v", err)
			}
		case <-time.After(gatewaytest.Patience):
			t.Fatal("it serves on")
		}
		if a := gatewaytest.Get(t, ls.Data.Addr().String(), "/v1/models"); a.Err == nil {
			t.Errorf("the data listener is still open: %d", a.Status)
		}
	}
}

// TestABrokenListenerStopsTheGateway in good order, with an error.
func TestABrokenListenerStopsTheGateway(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	gate := make(chan struct{})
	rep.Script(gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(gatewaytest.Role, gatewaytest.Content("a")),
		gatewaytest.Wait(gate), gatewaytest.Chunks(gatewaytest.Finish("b", "stop"), gatewaytest.Done), gatewaytest.Send(gatewaytest.FinalChunk))
	ls, g, done := serveOnce(t, t.Context(), onePool(1, rep))
	<-g.Ready()
	answer := make(chan *gatewaytest.Response, 1)
	go func() {
		answer <- gatewaytest.Post(t, ls.Data.Addr().String(), "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", true))
	}()
	rep.WaitRunning(1)
	if err := ls.Control.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the gateway drains", g.door.closed)
	close(gate)
	if a := <-answer; a.Status != 200 || a.Ending != gatewaytest.Whole {
		t.Errorf("the stream: status %d, ending %v", a.Status, a.Ending)
	}
	if err := <-done; err == nil {
		t.Error("no error")
	}
}

// TestTheDoor counts right whatever comes first, for the race detector too.
func TestTheDoor(t *testing.T) {
	d := newDoor()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { v := new(visit); d.enter(v); d.closed(); d.leave(v) })
	}
	first, late := new(visit), new(visit)
	d.enter(first)
	empty := d.close()
	all.Wait()
	select {
	case <-empty:
		t.Fatal("empty while somebody is inside")
	default:
	}
	if d.count() != 1 || !d.closed() {
		t.Errorf("%d inside, closed %v", d.count(), d.closed())
	}
	d.leave(first)
	<-empty
	d.enter(late) // refused inside
	d.leave(late)
	<-d.close()
}

// TestNothingIsLeftBehind of gateways that have stopped: no goroutine of ours, no
// connection to a replica. (fasthttp's own take some seconds to end.)
func TestNothingIsLeftBehind(t *testing.T) {
	rep := gatewaytest.NewReplica(t, shortAnswer...)
	runtime.GC() // closes what earlier tests forgot
	descriptors := gatewaytest.Descriptors().Read
	before := descriptors()
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		ls, g, done := serveOnce(t, ctx, onePool(1, rep))
		<-g.Ready()
		if a := gatewaytest.Post(t, ls.Data.Addr().String(), "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", false)); a.Status != 200 {
			t.Errorf("status %d", a.Status)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	eventually(t, "goroutines and descriptors are gone", func() bool { return ours() == "" && descriptors() <= before+2 })
	if left := ours(); left != "" {
		t.Errorf("still running:\n%s", left)
	}
}

// ours is the stacks of the gateway's goroutines, the tests' own left out.
func ours() string {
	buf := make([]byte, 1<<20)
	var left []string
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		for _, owner := range []string{"gateway.(*", "gateway/conn.", "gateway/fleet.", "gateway/replica."} {
			if strings.Contains(stack, "sluice/"+owner) {
				left = append(left, stack)
				break
			}
		}
	}
	return strings.Join(left, "\n\n")
}

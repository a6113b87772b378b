package gateway

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

var _ context.Context = (*visit)(nil)

func TestVisitEndsOnce(t *testing.T) {
	var v visit
	stops := 0
	v.during(func() { stops++ })
	if v.Err() != nil || context.Cause(&v) != nil {
		t.Error("a visit that goes on has a cause")
	}
	v.end(errClientGone)
	v.end(errDraining)
	<-v.Done()
	if !errors.Is(v.Err(), errClientGone) || !errors.Is(context.Cause(&v), errClientGone) || stops != 1 {
		t.Errorf("cause %v, stopped %d times; want the first cause, once", v.Err(), stops)
	}
}

func TestVisitStopsWhatBeginsTooLate(t *testing.T) {
	var v visit
	v.during(func() { t.Error("a call that was over is stopped") })
	v.during(nil)
	v.end(errDraining)
	stopped := false
	v.during(func() { stopped = true })
	if !stopped {
		t.Error("a call that begins after the end goes on")
	}
	v.during(nil)
}

func TestVisitOfManyEnds(t *testing.T) {
	for range 200 {
		var v visit
		var stops atomic.Int32
		var all sync.WaitGroup
		for _, cause := range []error{errClientGone, errDraining, errAnswered} {
			all.Go(func() { v.end(cause) })
		}
		all.Go(func() { v.during(func() { stops.Add(1) }) })
		all.Go(func() { <-v.Done() })
		all.Wait()
		if n := stops.Load(); n != 1 {
			t.Fatalf("stopped %d times, want 1", n)
		}
	}
}

func TestTheDoorCutsOffWhoIsInside(t *testing.T) {
	d := newDoor()
	stays, left := new(visit), new(visit)
	d.enter(stays)
	d.enter(left)
	d.leave(left)
	d.cutOff(errDraining)
	if !errors.Is(stays.Err(), errDraining) || left.Err() != nil {
		t.Errorf("inside: %v, left: %v", stays.Err(), left.Err())
	}
	late := new(visit)
	d.enter(late)
	if !errors.Is(late.Err(), errDraining) {
		t.Error("who comes in after the end of the grace period is not cut off")
	}
}

package vllmsim

import (
	"testing"
	"time"
)

// newTestBatch is a 27B replica's batch.
func newTestBatch(o Options) *batch { return newBatch(o.withDefaults()) }

// sequences makes a job of count equal sequences.
func sequences(count, prompt, tokens int) *job {
	j := newJob()
	for range count {
		j.add(prompt, plan{tokens: tokens, reason: reached})
	}
	return j
}

// step takes one step and says whether there was anything to do.
func step(b *batch) bool {
	_, busy := b.begin(time.Time{})
	if busy {
		b.commit(time.Time{})
	}
	return busy
}

func TestMaxNumSeqsBoundsTheRunning(t *testing.T) {
	b := newTestBatch(Options{MaxNumSeqs: 4, MaxModelLen: 8192})
	b.add(time.Time{}, sequences(10, 100, 3))
	steps := 0
	for ; step(b); steps++ {
		if len(b.running) > 4 {
			t.Fatalf("step %d: %d sequences run, want at most 4", steps, len(b.running))
		}
	}
	if steps != 9 { // three waves of three tokens
		t.Errorf("got %d steps, want 9", steps)
	}
	if b.held != 0 || b.peak != 10 || b.free != b.total {
		t.Errorf("afterwards: held %d, peak %d, %d of %d pages free", b.held, b.peak, b.free, b.total)
	}
}

func TestBudgetSplitsPromptsAndDecodesGoFirst(t *testing.T) {
	b := newTestBatch(Options{MaxNumBatchedTokens: 1000, MaxModelLen: 8192})
	b.add(time.Time{}, sequences(10, 10, 100))
	step(b)
	long := sequences(1, 2500, 1)
	b.add(time.Time{}, long)
	var scheduled []int
	for done := false; !done; {
		b.begin(time.Time{})
		scheduled = append(scheduled, long.sequences[0].scheduled)
		b.commit(time.Time{})
		_, why := long.sequences[0].progress()
		done = why != running
	}
	if len(scheduled) != 3 || scheduled[0] != 990 || scheduled[1] != 990 || scheduled[2] != 520 {
		t.Errorf("got chunks %v, want 990, 990, 520 beside ten decodes", scheduled)
	}
}

func TestWaitingIsFirstComeFirstServed(t *testing.T) {
	b := newTestBatch(Options{MaxNumSeqs: 1, MaxModelLen: 8192})
	first, second := sequences(1, 10, 2), sequences(1, 10, 2)
	b.add(time.Time{}, first)
	b.add(time.Time{}, second)
	for range 3 {
		step(b)
	}
	if _, why := first.sequences[0].progress(); why != reached {
		t.Errorf("the first has ended as %v after 3 steps", why)
	}
	if made, _ := second.sequences[0].progress(); made != 1 {
		t.Errorf("the second has made %d tokens after 3 steps, want 1", made)
	}
}

func TestNewestIsPreemptedWhenPagesRunOut(t *testing.T) {
	b := newTestBatch(Options{MaxModelLen: 128000, MaxNumSeqs: 512})
	b.free = 2 * b.replica.PagesNeeded(500) // room for two short ones
	b.total = b.free
	older, newer := sequences(1, 500, 100), sequences(1, 500, 100)
	b.add(time.Time{}, older)
	b.add(time.Time{}, newer)
	for range 50 {
		step(b)
	}
	if b.stats.preemptions == 0 || b.waiting[0] != newer.sequences[0] {
		t.Fatalf("got %d preemptions, %d wait; want the newer one preempted", b.stats.preemptions, len(b.waiting))
	}
	for step(b) {
	}
	for _, s := range []*sequence{older.sequences[0], newer.sequences[0]} {
		if made, why := s.progress(); made != 100 || why != reached {
			t.Errorf("got %d tokens, ended %v, want 100 and the bound", made, why)
		}
	}
	if b.free != b.total || b.stats.promptTokens != 1000 {
		t.Errorf("got %d of %d pages free, %d prompt tokens", b.free, b.total, b.stats.promptTokens)
	}
}

func TestCancelledGoesAtTheNextStep(t *testing.T) {
	b := newTestBatch(Options{MaxNumSeqs: 1, MaxModelLen: 8192})
	runs, waits := sequences(1, 10, 100), sequences(1, 10, 100)
	b.add(time.Time{}, runs)
	b.add(time.Time{}, waits)
	step(b)
	runs.sequences[0].cancelled = true
	if b.held != 2 {
		t.Fatalf("held %d before the next step, want 2", b.held)
	}
	step(b)
	if b.held != 1 || b.cancels != 1 || b.running[0] != waits.sequences[0] {
		t.Errorf("held %d, cancelled %d after it, want 1, 1 and the other running", b.held, b.cancels)
	}
	waits.sequences[0].cancelled = true
	if step(b) || b.held != 0 || b.free != b.total || b.stats.running != 0 {
		t.Errorf("held %d, %d of %d pages free, gauge %d at the end", b.held, b.free, b.total, b.stats.running)
	}
}

func TestPromptOnlySequenceEndsAfterPrefill(t *testing.T) {
	b := newTestBatch(Options{MaxModelLen: 8192})
	j := newJob()
	j.add(100, plan{reason: stopped})
	b.add(time.Time{}, j)
	step(b)
	if made, why := j.sequences[0].progress(); made != 0 || why != stopped {
		t.Errorf("got %d tokens, ended %v", made, why)
	}
}

package vllmsim

import (
	"testing"
	"time"
)

func TestPadTokens(t *testing.T) {
	f := func(n, gap, want int) {
		t.Helper()
		if got := padTokens(n, gap); got != want {
			t.Errorf("%d tokens, gap %d: got %d, want %d", n, gap, got, want)
		}
	}
	f(1, 0, 16)
	f(17, 0, 32)
	f(4000, 0, 4096)
	f(4097, 0, 8192)
	f(6000, 0, 8192)
	f(6000, 64, 6016)
	f(6000, 128, 6016)
	f(6000, 256, 6144)
	f(6000, 512, 6144)
	f(6000, 1024, 6144)
	f(8192, 256, 8192)
	f(100, 256, 128)
	f(200, 256, 256)
	f(300, 256, 512)
}

func TestPageSizeGrowsWithTheBlockTables(t *testing.T) {
	for seqs, want := range map[int]int{512: 512, 256: 256, 128: 128, 64: 64} {
		if got := pageTokens(128000, seqs); got != want {
			t.Errorf("%d sequences: got pages of %d tokens, want %d", seqs, got, want)
		}
	}
}

// The most sequences of a length that the KV pages hold at 512 tokens a page
// and nothing reserved; the figures are known from the model's arithmetic.
func TestPagesHold(t *testing.T) {
	f := func(size string, tokens, want int) {
		t.Helper()
		m := models[size]
		if got := m.pages(512, 0) / m.pagesFor(tokens, 512); got != want {
			t.Errorf("%s, %d tokens: got %d sequences, want %d", size, tokens, got, want)
		}
	}
	f("gemma-3-12b", 1000, 239)
	f("gemma-3-12b", 1536, 159)
	f("gemma-3-12b", 4096, 124)
	f("gemma-3-12b", 32768, 36)
	f("gemma-3-27b", 1000, 112)
	f("gemma-3-27b", 1536, 74)
	f("gemma-3-27b", 4096, 60)
	f("gemma-3-27b", 128000, 5)
}

func TestStepTimeIsTheModels(t *testing.T) {
	decode := func(n, context int) stepLoad {
		return stepLoad{tokens: n, sequences: n, context: n * context, windowed: n * min(context, window)}
	}
	f := func(size string, l stepLoad, low, high time.Duration) {
		t.Helper()
		if got := models[size].stepTime(l, 0); got < low || got > high {
			t.Errorf("%s, %+v: got %v, want %v to %v", size, l, got, low, high)
		}
	}
	f("gemma-3-12b", decode(16, 1000), 22*time.Millisecond, 25*time.Millisecond)
	f("gemma-3-27b", decode(16, 1000), 31*time.Millisecond, 34*time.Millisecond)
	chunk := stepLoad{tokens: 8192, sequences: 1, context: 8192, windowed: window}
	f("gemma-3-27b", chunk, 220*time.Millisecond, 250*time.Millisecond)
	mixed := stepLoad{tokens: 4000 + 128, sequences: 129, context: 4000 + 128*1000, windowed: 129 * 1000}
	alone := stepLoad{tokens: 4000, sequences: 1, context: 4000, windowed: window}
	if m := models["gemma-3-12b"]; m.stepTime(mixed, 0) < m.stepTime(alone, 0)*17/10 {
		t.Errorf("a prompt of 4000 tokens costs %v alone and %v mixed with 128 decodes", m.stepTime(alone, 0), m.stepTime(mixed, 0))
	}
}

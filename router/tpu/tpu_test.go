package tpu

import (
	"math"
	"slices"
	"testing"
)

// replica is a model on v6e 2x2 with pages of 512 tokens.
func replica(t *testing.T, model string) Replica {
	t.Helper()
	m, ok := ModelOf(model)
	s, known := SliceOf("v6e-2x2")
	if !ok || !known {
		t.Fatalf("%s on v6e-2x2 is not in the tables", model)
	}
	return Replica{Model: m, Slice: s, Page: 512}
}

func TestTokenBuckets(t *testing.T) {
	for _, c := range []struct {
		gap, count int
		start      []int
		last       int
	}{
		{0, 10, []int{16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192}, 8192},
		{64, 130, []int{16, 32, 64, 128, 192, 256, 320}, 8192},
		{128, 67, []int{16, 32, 64, 128, 256, 384, 512, 640}, 8192},
		{256, 36, []int{16, 32, 64, 128, 256, 512, 768, 1024}, 8192},
		{512, 21, []int{16, 32, 64, 128, 256, 512, 1024, 1536}, 8192},
		{1024, 14, []int{16, 32, 64, 128, 256, 512, 1024, 2048, 3072}, 8192},
		{500, 21, []int{16, 32, 64, 128, 256, 756, 1256}, 8256},
		{1000, 14, []int{16, 32, 64, 128, 256, 512, 1512}, 8512},
		{8, 1023, []int{16, 24, 32}, 8192},
	} {
		got := TokenBuckets(8192, c.gap)
		if len(got) != c.count || !slices.Equal(got[:len(c.start)], c.start) || got[len(got)-1] != c.last {
			t.Errorf("gap %d: got %d buckets %v … %d, want %d, %v … %d",
				c.gap, len(got), got[:len(c.start)], got[len(got)-1], c.count, c.start, c.last)
		}
	}
}

func TestTokenBucketsMayExceedTheBudget(t *testing.T) {
	got := TokenBuckets(16640, 0)
	if last := got[len(got)-1]; last != 32768 {
		t.Fatalf("last bucket %d, want 32768", last)
	}
}

func TestPad(t *testing.T) {
	gaps := []int{0, 64, 128, 256, 512, 1024}
	for _, c := range []struct {
		tokens int
		want   []int
	}{
		{129, []int{256, 192, 256, 256, 256, 256}},
		{520, []int{1024, 576, 640, 768, 1024, 1024}},
		{1500, []int{2048, 1536, 1536, 1536, 1536, 2048}},
		{3000, []int{4096, 3008, 3072, 3072, 3072, 3072}},
		{4000, []int{4096, 4032, 4096, 4096, 4096, 4096}},
		{4128, []int{8192, 4160, 4224, 4352, 4608, 5120}},
		{6000, []int{8192, 6016, 6016, 6144, 6144, 6144}},
	} {
		for i, gap := range gaps {
			if got := Pad(TokenBuckets(8192, gap), c.tokens); got != c.want[i] {
				t.Errorf("%d tokens, gap %d: got %d, want %d", c.tokens, gap, got, c.want[i])
			}
		}
	}
	if got := Pad(TokenBuckets(8192, 0), 8193); got != 0 {
		t.Errorf("8193 tokens fit no bucket, got %d", got)
	}
}

// A padded step holds its tokens, grows with them, and is its own bucket.
func TestPadProperties(t *testing.T) {
	for _, gap := range []int{0, 64, 128, 256, 512, 1024, 500, 1000, 8, 100, 9000} {
		buckets, last := TokenBuckets(8192, gap), 0
		for n := 1; n <= 8192; n++ {
			p := Pad(buckets, n)
			if p < n || p < last || Pad(buckets, p) != p {
				t.Fatalf("gap %d: %d tokens pad to %d after %d", gap, n, p, last)
			}
			last = p
		}
	}
}

func TestPadSequences(t *testing.T) {
	for n, want := range map[int]int{0: 8, 1: 8, 8: 8, 9: 16, 64: 64, 65: 128, 90: 100} {
		if got := PadSequences(n, max(want, 100)); got != want {
			t.Errorf("%d sequences: got %d, want %d", n, got, want)
		}
	}
}

func TestPageSize(t *testing.T) {
	for _, c := range []struct{ length, seqs, want int }{
		{128000, 512, 512}, {128000, 256, 256}, {128000, 128, 128}, {128000, 64, 64}, {1024, 8, 16}, {1, 1 << 20, 16},
	} {
		if got := PageSize(c.length, c.seqs); got != c.want {
			t.Errorf("max_model_len %d, max_num_seqs %d: got %d, want %d", c.length, c.seqs, got, c.want)
		}
	}
}

func TestMaxSequences(t *testing.T) {
	hold := func(model string, tokens int, noHybrid bool) int {
		r := replica(t, model)
		r.NoHybrid = noHybrid
		return r.MaxSequences(tokens)
	}
	for _, c := range []struct{ tokens, hybrid12, full12, hybrid27, full27 int }{
		{600, 239, 239, 112, 126}, {1000, 239, 239, 112, 126}, {1536, 159, 159, 74, 84}, {4096, 124, 59, 60, 31},
		{8192, 92, 29, 46, 15}, {16384, 61, 14, 31, 7}, {32768, 36, 7, 19, 3}, {128000, 10, 1, 5, 1},
	} {
		got := c
		got.hybrid12, got.full12 = hold("gemma-3-12b", c.tokens, false), hold("gemma-3-12b", c.tokens, true)
		got.hybrid27, got.full27 = hold("gemma-3-27b", c.tokens, false), hold("gemma-3-27b", c.tokens, true)
		if got != c {
			t.Errorf("got %+v, want %+v", got, c)
		}
	}
}

func TestKVMemory(t *testing.T) {
	for model, want := range map[string]float64{"gemma-3-12b": 89.8, "gemma-3-27b": 61.4} {
		r := replica(t, model)
		r.Page = 1
		pages := r.Pages(Utilisation, 0)
		got := float64(pages) * r.pageBytes() / gib
		if math.Abs(got-want) > 0.05 {
			t.Errorf("%s: %.2f GiB for KV, want %.1f", model, got, want)
		}
	}
	if got := replica(t, "gemma-3-27b").Pages(0.1, 0); got != 0 {
		t.Errorf("weights alone exceed the memory, got %d pages", got)
	}
}

func TestBytesOfAToken(t *testing.T) {
	for model, want := range map[string]struct{ all, global float64 }{
		"gemma-3-12b": {393216, 65536}, "gemma-3-27b": {507904, 81920}, "gemma-3-4b": {139264, 20480},
	} {
		m, _ := ModelOf(model)
		all, global := m.kvRead(1, 1), m.kvRead(5001, 1024)-m.kvRead(5000, 1024)
		if all != want.all || global != want.global {
			t.Errorf("%s: got %g and %g bytes, want %g and %g", model, all, global, want.all, want.global)
		}
	}
}

func TestW(t *testing.T) {
	r := replica(t, "gemma-3-27b")
	w := Anchored().W(r.Model, r.Slice, Benchmark(64))
	if w < 23 || w > 25 {
		t.Errorf("w of 27B at 64 is %.2f, want about 24", w)
	}
	// More sequences share the reading of the weights: a token gets cheaper.
	if more := Anchored().W(r.Model, r.Slice, Benchmark(128)); more >= w {
		t.Errorf("w at 128 is %.2f, want below %.2f", more, w)
	}
}

func TestStepTimeOfOneToken(t *testing.T) {
	r := replica(t, "gemma-3-12b")
	buckets := TokenBuckets(8192, 0)
	got := Anchored().StepTime(r.Model, r.Slice, Step{Tokens: Pad(buckets, 16), Sequences: 16, Padded: 16, Context: 16 * 1000, Local: 16 * 1000})
	if got < 0.021 || got > 0.025 {
		t.Errorf("12B at 16 sequences: %.1f ms a step, want about 23", got*1e3)
	}
}

func TestTablesAreComplete(t *testing.T) {
	for _, name := range Models() {
		m, ok := ModelOf(name)
		if !ok || m.WeightBytes() < 1e9 || (Replica{Model: m}).localGroups() < 5 {
			t.Errorf("%s: %+v", name, m)
		}
	}
	for _, name := range Slices() {
		if s, ok := SliceOf(name); !ok || s.Chips < 1 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if _, ok := ModelOf("other"); ok {
		t.Error("a model that is not in the table was found")
	}
	if _, ok := SliceOf("other"); ok {
		t.Error("a slice that is not in the table was found")
	}
}

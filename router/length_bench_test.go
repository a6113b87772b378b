package router

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func sane(f forecast, most int) bool {
	return 0 <= f.P50 && f.P50 <= f.P90 && f.P90 <= most && f.Mean >= -1e-6 && f.Mean <= float64(most)*(1+1e-9) && f.Samples >= 0 && !math.IsInf(f.Samples, 0)
}

// FuzzLengths learns what it is told, and asks: each four bytes are a step of
// time, a kind, a length and whether it was cut.
func FuzzLengths(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\xff\xff\xff\xff\x10\x20\x30\x40"))
	f.Add([]byte("aaaabbbbccccaaaazzzz\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		l, now := newLengths(), lengthEpoch
		l.limit = 9
		for ; len(in) >= 4; in = in[4:] {
			now = now.Add(time.Duration(1<<(in[0]%60)) - 1)
			bound := int(in[1])<<(in[1]%12) - 1
			key := lengthKeyOf(string(in[1:2]), "r", bound, int(in[2]))
			tokens := int(in[3])<<(in[2]%18) - 2
			l.learn(now, key, tokens, in[0]&64 == 0)
			for _, emitted := range []int{0, 1, tokens, 1 << 20} {
				most := math.MaxInt
				if bound >= 0 {
					most = max(bound-max(emitted, 0), 0)
				}
				if got := l.remaining(now, key, bound, emitted); !sane(got, most) {
					t.Fatalf("bound %d, emitted %d: %+v", bound, emitted, got)
				}
			}
		}
	})
}

// trained has learned 3,000 answers of the kinds, and these.
func trained() (l *lengths, now time.Time, keys []lengthKey, tokens []int) {
	l, now = newLengths(), lengthEpoch
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 4096 {
		key, n := kinds(r, i)
		keys, tokens = append(keys, key), append(tokens, n)
		now = now.Add(50 * time.Millisecond)
		l.learn(now, key, n, i%5 > 0)
	}
	return l, now, keys, tokens
}

func TestLengthAllocations(t *testing.T) {
	l, now, keys, tokens := trained()
	i := 0
	got := testing.AllocsPerRun(1000, func() {
		i++
		now = now.Add(time.Millisecond)
		l.learn(now, keys[i], tokens[i], i%5 > 0)
		l.predict(now, keys[i], -1)
		l.remaining(now, keys[i], -1, tokens[i])
	})
	if got > 0 {
		t.Errorf("learn, predict and remaining allocate %v times", got)
	}
}

func BenchmarkLengthLearn(b *testing.B) {
	l, now, keys, tokens := trained()
	i := 0
	for b.Loop() {
		i++
		now = now.Add(time.Millisecond)
		l.learn(now, keys[i&4095], tokens[i&4095], i%5 > 0)
	}
}

func BenchmarkLengthPredict(b *testing.B) {
	l, now, keys, _ := trained()
	i := 0
	for b.Loop() {
		i++
		l.predict(now, keys[i&4095], 4096)
	}
}

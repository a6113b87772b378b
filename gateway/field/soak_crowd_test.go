package field

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// crowd is clients that come at random times, whether or not those before them have
// been served: load doesn't wait for answers.
type crowd struct {
	r      *rig
	window time.Duration
	random *rand.Rand // who comes when, and what for
	quick  *http.Client
	slow   *http.Client
	coming sync.WaitGroup

	mu     sync.Mutex // guards the rest
	heard  []hearing  // by number
	inside int        // who is being served, or waits
	most   int        // at once
}

// hearing is what became of one request, by its client.
type hearing struct {
	window int
	decode bool
	left   bool // the client didn't wait for the end
	status int  // 0: no answer
	whole  bool // the answer is a whole one
	first  time.Duration
	last   time.Duration
}

// visit is one request.
type visit struct {
	number int
	decode bool
	slow   bool
	leaves time.Duration // 0: stays
	body   string
}

func newCrowd(r *rig, window time.Duration) *crowd {
	narrow := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			err = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		}
		return conn, err
	}
	return &crowd{r: r, window: window, random: rand.New(rand.NewPCG(5, 3)),
		quick: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}},
		slow:  &http.Client{Transport: &http.Transport{DialContext: narrow, MaxIdleConnsPerHost: 4, DisableCompression: true}},
	}
}

// come lets them come for so long, soakRate a second.
func (c *crowd) come(began time.Time, long time.Duration) {
	c.coming.Go(func() {
		next := began
		for n := 0; ; n++ {
			next = next.Add(time.Duration(c.random.ExpFloat64() / soakRate * float64(time.Second)))
			if next.Sub(began) >= long {
				return
			}
			if wait := time.Until(next); wait > 0 {
				<-time.After(wait)
			}
			v := c.draw(n)
			c.mu.Lock()
			c.heard = append(c.heard, hearing{window: int(next.Sub(began) / c.window), decode: v.decode, left: v.leaves > 0})
			c.inside++
			c.most = max(c.most, c.inside)
			c.mu.Unlock()
			c.coming.Go(func() { c.pay(v) })
		}
	})
}

// number is how many have come.
func (c *crowd) number() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.heard)
}

// leave waits until all have gone.
func (c *crowd) leave() {
	c.coming.Wait()
	c.quick.CloseIdleConnections()
	c.slow.CloseIdleConnections()
}

// draw makes up the n-th request: a long prompt for a word in 5 of 9, else a story.
// One in 20 leaves early, one in 25 reads slowly; a third begin as others did.
func (c *crowd) draw(n int) visit {
	x := c.random
	v := visit{number: n, decode: x.IntN(9) < 4, slow: x.IntN(25) == 0}
	if x.IntN(20) == 0 {
		v.leaves = time.Duration(1 + x.Int64N(int64(time.Second)))
	}
	own := n
	if x.IntN(3) == 0 {
		own = x.IntN(8)
	}
	prompt, most := fmt.Sprint("Classify review ", own, ", one word. ", strings.Repeat("The lamp broke after two days. ", 200+x.IntN(100))), 8
	if v.decode {
		prompt, most = fmt.Sprint("Tell me story ", own, " of a lock keeper. ", strings.Repeat("There was a river. ", 50+x.IntN(100))), 60+x.IntN(120)
	}
	stream := x.IntN(5) > 0 == v.decode
	v.body = fmt.Sprintf(`{"model":"m","max_tokens":%d,"stream":%t,"messages":[{"role":"user","content":%q}]}`, most, stream, prompt)
	return v
}

// pay sends one request and hears the answer.
func (c *crowd) pay(v visit) {
	began := time.Now()
	var h hearing
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.inside--
		old := &c.heard[v.number]
		old.status, old.whole, old.first, old.last = h.status, h.whole, h.first, time.Since(began)
	}()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if v.leaves > 0 {
		defer time.AfterFunc(v.leaves, cancel).Stop()
	}
	ask, err := http.NewRequestWithContext(ctx, "POST", "http://"+c.r.data+chatPath, strings.NewReader(v.body))
	if err != nil {
		c.r.t.Error(err)
		return
	}
	ask.Header.Set("Content-Type", "application/json")
	ask.Header.Set("X-Request-Id", soakID(v.number))
	client := c.quick
	if v.slow {
		client = c.slow
	}
	answer, err := client.Do(ask)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	h.status = answer.StatusCode
	h.first, h.whole = hear(answer, began, v.slow)
}

// soakID is a request's X-Request-Id.
func soakID(n int) string { return fmt.Sprint("soak-", n) }

// hear reads an answer, and says when its body began and whether it is whole.
func hear(answer *http.Response, began time.Time, slow bool) (first time.Duration, whole bool) {
	var body []byte
	piece := make([]byte, 4<<10)
	for {
		if slow {
			piece = piece[:512]
			<-time.After(10 * time.Millisecond)
		}
		n, err := answer.Body.Read(piece)
		if first == 0 && n > 0 {
			first = time.Since(began)
		}
		body = append(body, piece[:n]...)
		if err == io.EOF {
			return first, answer.StatusCode == 200 && bytes.HasSuffix(body, []byte("data: [DONE]\n\n")) != json.Valid(body)
		}
		if err != nil {
			return first, false
		}
	}
}

// figures are those of one class in one window.
type figures struct {
	came, whole, refused, left, failed int
	first, last                        []time.Duration // of those that were whole, in order of size
}

func (c *crowd) figures(window int, decode bool) (f figures) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.heard {
		if h.window != window || h.decode != decode {
			continue
		}
		f.came++
		switch {
		case h.left:
			f.left++
		case h.whole:
			f.whole++
			f.first, f.last = append(f.first, h.first), append(f.last, h.last)
		case h.status == 429 || h.status == 503:
			f.refused++
		default:
			f.failed++
		}
	}
	slices.Sort(f.first)
	slices.Sort(f.last)
	return f
}

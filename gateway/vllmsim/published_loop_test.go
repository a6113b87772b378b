package vllmsim

import (
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// users are a closed loop without think time against one replica. A user whose
// request is lost gives up with the replica.
type users struct {
	server http.Handler
	body   string
	from   time.Time // counting starts
	until  time.Time

	done, early, lost int // requests that ended while it counts
	waited            time.Duration
}

// run sends one user's requests until the end.
func (u *users) run(found chan<- users) {
	var own users
	for time.Now().Before(u.until) {
		began := time.Now()
		status := u.send()
		if took := time.Since(began); time.Now().After(u.from) && !time.Now().After(u.until) {
			own.count(status, took)
		}
	}
	found <- own
}

// send is the status of one request; 0 when its connection was cut.
func (u *users) send() (status int) {
	r := httptest.NewRequest("POST", "/v1/completions", strings.NewReader(u.body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	defer func() {
		if recover() == http.ErrAbortHandler {
			status = 0
		}
	}()
	u.server.ServeHTTP(w, r)
	return w.Code
}

func (u *users) count(status int, took time.Duration) {
	switch status {
	case http.StatusOK:
		u.done++
		u.waited += took
	case http.StatusInternalServerError:
		u.early++
	case 0:
		u.lost++
	}
}

// load is what a closed loop comes to, in the units of the published table once
// it is divided by that of 12B with 16 users.
type load struct {
	counted, completed, latency float64 // a second, a second, seconds
	early, lost                 float64 // shares of what was counted, and of all requests
}

// publishedLoad is a load of so many users, measured until about so many answers
// are whole. The first ones don't count. Users come one after the other, so that
// they don't all wait for the same moment. Requests are a tenth as long as the
// published ones: that changes no multiple, and spares the test their bytes.
func publishedLoad(t *testing.T, size string, w workload, count, answers int) load {
	var l load
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Size: size, Published: true, Speed: maxSpeed, Logger: slog.New(slog.DiscardHandler)})
		defer s.Shutdown(t.Context())
		prompt, answer := 50, 100
		if w == classificationLoad {
			prompt, answer = 400, 1
		}
		took := s.engine.(*published).stay(prompt, answer, publishedRows[size][w].at(count).latency).due(answer)
		start := time.Now()
		u := &users{
			server: s.Handler(), from: start.Add(lostPatience * took),
			body: fmt.Sprintf(`{"prompt":%q,"max_tokens":%d,"ignore_eos":true}`, strings.Repeat("text", prompt-1), answer),
		}
		window := took * time.Duration(answers) / time.Duration(count)
		u.until = u.from.Add(window)
		found := make(chan users, count)
		for i := range count {
			time.AfterFunc(took*time.Duration(i)/time.Duration(count), func() { u.run(found) })
		}
		l = summed(found, count, window)
	})
	return l
}

func summed(found <-chan users, count int, window time.Duration) load {
	var all users
	for range count {
		u := <-found
		all.done, all.early, all.lost, all.waited = all.done+u.done, all.early+u.early, all.lost+u.lost, all.waited+u.waited
	}
	counted := float64(all.done + all.early)
	return load{
		counted: counted / window.Seconds(), completed: float64(all.done) / window.Seconds(),
		latency: all.waited.Seconds() / float64(all.done),
		early:   float64(all.early) / counted, lost: float64(all.lost) / (counted + float64(all.lost)),
	}
}

// A closed loop reproduces the published throughput and latency of every cell,
// when requests that failed early are counted, as they were.
func TestPublishedFigures(t *testing.T) {
	const tolerance, answers = 0.10, 700
	for w, name := range [...]string{generationLoad: "generation", classificationLoad: "classification"} {
		w := workload(w)
		base := publishedLoad(t, "gemma-3-12b", w, 16, answers)
		for _, size := range PublishedSizes() {
			published := publishedRows[size][w]
			for i, count := range publishedUsers {
				l := publishedLoad(t, size, w, int(count), answers)
				counted, latency := l.counted/base.counted, l.latency/base.latency
				t.Logf("%s %s %3.0f users: throughput %.2f, published %.2f; latency %.2f, published %.2f; completed %.2f; failed early %2.0f %%, lost %2.0f %% of requests",
					name, size, count, counted, published.throughput[i], latency, published.latency[i], l.completed/base.completed, 100*l.early, 100*l.lost)
				if off(counted, published.throughput[i]) > tolerance || off(latency, published.latency[i]) > tolerance {
					t.Errorf("%s %s %v users: not within %v of what was published", name, size, count, tolerance)
				}
			}
		}
	}
}

func off(got, want float64) float64 { return math.Abs(got/want - 1) }

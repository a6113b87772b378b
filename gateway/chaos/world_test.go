package chaos

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/config"
	"sluice/gateway"
)

// world is one seed's: a gateway, its replicas and clients, and the books that are
// kept of them.
type world struct {
	t        testing.TB
	seed     uint64
	rng      *rand.Rand
	all      sync.WaitGroup // every goroutine but the gateway's
	g        *gateway.Gateway
	data     *door
	ops      *door
	control  *door
	stop     context.CancelFunc
	served   chan error
	machines map[string]*machine
	orders   []*language
	access   *text
	log      *text
	shutAt   time.Time
	batches  bool // some requests are of priority batch

	mu     sync.Mutex // guards all below, and what is said to be
	policy *policy
	caps   []capChange
	visits []*visit
	calm   bool     // replicas do well from now on
	faults []string // promises that were broken
	story  strings.Builder

	held     map[string]int       // by replica, at the last look
	unwell   map[string]time.Time // and when it was last seen to be unwell
	looks    int
	outcomes map[string]int  // that requests came to, at the end
	reached  map[string]bool // what happened that must happen in some seed
}

// capChange is a policy and since when it is in force.
type capChange struct {
	at time.Time
	p  *policy
}

// text collects a log.
type text struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}

// newWorld builds the gateway of a seed and lets it serve. It runs in a bubble.
func newWorld(t testing.TB, seed uint64) *world {
	w := &world{
		t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 1)), machines: map[string]*machine{}, orders: languages(),
		data: newDoor(8080), ops: newDoor(8081), control: newDoor(8082), served: make(chan error, 1),
		access: &text{}, log: &text{}, held: map[string]int{}, unwell: map[string]time.Time{}, outcomes: map[string]int{}, reached: map[string]bool{},
	}
	w.policy, w.batches = firstPolicy(w.rng), chance(w.rng, 70)
	mute := chance(w.rng, 15)
	w.caps = []capChange{{time.Now(), w.policy}}
	for _, address := range slices.Concat(bigReplicas, fastReplicas) {
		w.machines[address] = newMachine(w, address)
		w.machines[address].muteLoad = mute || chance(w.rng, 20)
	}
	cfg := w.policy.config()
	g, err := gateway.New(gateway.Options{
		Config: cfg, Load: func() (*config.Config, error) { return w.policy.config(), nil },
		Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelWarn})), AccessLog: w.access, Dial: w.dial,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.g = g
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	go func() {
		w.served <- g.Serve(ctx, &gateway.Listeners{Data: w.data, Ops: w.ops, Control: w.control}, nil)
	}()
	return w
}

// fault notes a broken promise.
func (w *world) fault(format string, args ...any) {
	w.book(func() { w.faults = append(w.faults, fmt.Sprintf(format, args...)) })
}

func (w *world) tell(format string, args ...any) {
	fmt.Fprintf(&w.story, "%s  %s\n", time.Now().Format("05.000000"), fmt.Sprintf(format, args...))
}

func (w *world) isCalm() (calm bool) {
	w.book(func() { calm = w.calm })
	return calm
}

// capSince is the largest cap that a replica has had since then.
func (w *world) capSince(address string, since time.Time) (most int) {
	w.book(func() {
		for i, c := range w.caps {
			if i+1 == len(w.caps) || w.caps[i+1].at.After(since) {
				most = max(most, c.p.capOf(address))
			}
		}
	})
	return most
}

// play runs the schedule. Its last part lets all end that has begun.
func (w *world) play(steps int) {
	w.rest()
	for range steps {
		<-time.After(1 + upTo(w.rng, 700*time.Millisecond))
		w.step()
		w.rest()
		if w.check(); w.broken() {
			break
		}
	}
	if chance(w.rng, 70) && !w.broken() {
		w.heal()
	}
	w.close()
}

// rest lets everything happen that happens now.
func (w *world) rest() { synctest.Wait() }

func (w *world) broken() (yes bool) {
	w.book(func() { yes = len(w.faults) > 0 })
	return yes
}

// step is one thing that happens.
func (w *world) step() {
	address := pick(w.rng, slices.Concat(bigReplicas, fastReplicas)...)
	m := w.machines[address]
	s, _ := w.state()
	w.noteUnwell(s)
	switch c := w.rng.IntN(100); {
	case c < 62:
		w.arrive(1 + w.rng.IntN(6))
	case c < 72:
		w.reload()
	case c < 77:
		w.tell("%s crashes", address)
		m.crash()
	case c < 87:
		is := condition(w.rng.IntN(int(conditions)))
		w.tell("%s is %s", address, conditionNames[is])
		m.set(is)
	default:
		w.tell("all are well")
		for _, m := range w.machines {
			m.set(up)
		}
	}
}

// arrive lets callers come, each with one request or a few: one after the other, or
// all at once on one connection.
func (w *world) arrive(callers int) {
	for range callers {
		var list []*visit
		n := 1 + max(0, w.rng.IntN(5)-2)
		piped, spread := n > 1 && chance(w.rng, 40), chance(w.rng, 50)
		for i := range n {
			v := &visit{w: w, o: draw(w.rng, len(w.visits), w.orders, w.batches)}
			if piped {
				v.o.quick()
			}
			if spread && i > 0 {
				v.o.ahead = upTo(w.rng, 300*time.Millisecond)
			}
			w.book(func() { w.visits = append(w.visits, v) })
			list = append(list, v)
			w.tell("%s", v.o.story(piped))
		}
		if piped {
			w.all.Go(func() { w.pipe(list) })
			continue
		}
		w.all.Go(func() { w.call(list) })
	}
}

func (w *world) reload() {
	next, what := w.policy.change(w.rng)
	w.tell("reload: %s", what)
	before := w.openBreakers()
	w.rest() // to ask turns a breaker half open, which lets a trial in
	w.look() // what a cap may be lowered under
	w.book(func() { w.policy, w.caps = next, append(w.caps, capChange{time.Now(), next}) })
	if _, err := w.g.Reload(); err != nil {
		w.fault("a good reload is refused: %v", err)
	}
	if len(before) == 0 {
		return
	}
	after := w.openBreakers()
	for address := range before {
		if next.capOf(address) > 0 && !after[address] {
			w.fault("the reload closed the open breaker of %s", address)
		}
	}
}

// heal makes all well and waits for the end of all that has begun.
func (w *world) heal() {
	w.tell("the end: all are well")
	w.book(func() { w.calm = true })
	s, _ := w.state()
	w.noteUnwell(s)
	for _, m := range w.machines {
		m.set(up)
	}
	for range 60 {
		<-time.After(time.Second)
		if w.rest(); w.open() == 0 {
			break
		}
		if w.check(); w.broken() {
			return
		}
	}
	<-time.After(3 * time.Second)
	w.rest()
	w.checkRest()
}

// open is how many clients still wait for something.
func (w *world) open() (n int) {
	w.book(func() {
		for _, v := range w.visits {
			if !v.over {
				n++
			}
		}
	})
	return n
}

// close ends the gateway, with whatever is under way, and looks at what is left.
func (w *world) close() {
	w.shutAt = time.Now()
	w.tell("shutdown with %d requests under way", w.open())
	w.stop()
	if err := <-w.served; err != nil {
		w.fault("serve: %v", err)
	}
	w.data.exit()
	for _, m := range w.machines {
		m.crash()
	}
	w.all.Wait()
	<-time.After(3 * time.Second) // the HTTP library's own goroutines end within one
	w.rest()
	w.checkEnd()
}

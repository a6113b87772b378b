package field

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

// ongoing is work: streams that run until they are let go, and calls that go on beside
// them; all of it must end well.
type ongoing struct {
	r       *rig
	goOn    chan struct{} // the streams' end
	stop    chan struct{} // of the calls
	streams chan string
	running int
	all     sync.WaitGroup
	letGo   func()
}

// busy starts as many streams, and two clients that call a model one after the other.
func (r *rig) busy(streams int, model string, replicas []*gt.Replica) *ongoing {
	r.t.Helper()
	b := &ongoing{r: r, goOn: make(chan struct{}), stop: make(chan struct{}), streams: make(chan string, streams), running: streams}
	b.letGo = sync.OnceFunc(func() { close(b.stop); close(b.goOn); b.all.Wait() })
	r.t.Cleanup(b.letGo) // where the test breaks off
	for _, rep := range replicas {
		rep.Script(gt.Send(gt.SSEHead), gt.Chunks(gt.Role), gt.ChunksEach(200*time.Millisecond, slices.Repeat([]string{gt.Content("a")}, 20)...), gt.Wait(b.goOn), gt.Chunks(gt.ChatEvents("b")[1:]...), gt.Send(gt.FinalChunk))
	}
	for range streams {
		b.all.Go(func() { b.streams <- r.say(gt.Request("POST", chatPath, streamed, "Connection: close")) })
	}
	eventually(r.t, "all streams run", func() bool {
		return r.metrics().sum("sluice_requests_in_flight", `state="streaming"`) == float64(streams)
	})
	for _, rep := range replicas {
		rep.Script(gt.Send(gt.ChatAnswer("a", "stop", 1, 1)))
	}
	for range 2 {
		b.all.Go(func() {
			for {
				select {
				case <-b.stop:
					return
				case <-time.After(20 * time.Millisecond): // the next call
				}
				if answer := r.say(gt.Request("POST", chatPath, gt.ChatBody(model, "hi", false), "Connection: close")); !strings.HasPrefix(answer, "HTTP/1.1 200") {
					r.t.Errorf("a call beside: %s", answer)
				}
			}
		})
	}
	return b
}

// end lets everything end and looks at the streams.
func (b *ongoing) end() {
	b.r.t.Helper()
	b.letGo()
	for range b.running {
		if answer := <-b.streams; !strings.Contains(answer, gt.Done) || !strings.HasSuffix(answer, gt.FinalChunk) {
			b.r.t.Errorf("a stream: %s", answer)
		}
	}
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// capOf is a replica's cap in force; 0 when it isn't listed.
func (r *rig) capOf(rep *gt.Replica) int {
	r.t.Helper()
	return int(r.metrics().sum("sluice_replica_cap", strconv.Quote(rep.URL())))
}

// TestReloadsAreNoticedAndHurtNobody: under streams and calls the file changes in
// every way that editors and Kubernetes have; each change is in force soon, whole,
// and cuts nothing. Contents that can't be used change nothing, and say so.
func TestReloadsAreNoticedAndHurtNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.long, b.caps, b.queue = nil, 40, "{max_waiting: 100, max_wait: 30s}"
	b.timeouts["between_events"] = "1m"
	r := b.start(t)
	work := r.busy(20, "served-short", b.short)
	text := func() string { b.caps++; return loopbackDoors + b.policy() }
	inForce := func(what string) {
		t.Helper()
		eventually(t, what+" is in force", func() bool { return r.capOf(b.short[0]) == b.caps })
	}
	for _, way := range []struct {
		name   string
		change func(content string)
	}{
		{"a rename over it", func(content string) {
			r.must(os.WriteFile(r.file+".tmp", []byte(content), 0o600))
			r.must(os.Rename(r.file+".tmp", r.file))
		}},
		{"a rewrite in two writes", func(content string) {
			f, err := os.Create(r.file)
			r.must(err)
			for _, half := range []string{content[:len(content)/2], content[len(content)/2:]} {
				_, err = f.WriteString(half)
				r.must(err)
			}
			r.must(f.Close())
		}},
		{"delete and create", func(content string) { r.must(os.Remove(r.file)); r.must(os.WriteFile(r.file, []byte(content), 0o600)) }},
		{"SIGHUP", func(content string) { r.must(os.WriteFile(r.file, []byte(content), 0o600)); r.signal(syscall.SIGHUP) }},
		{"the last of two at once", func(content string) {
			r.must(os.WriteFile(r.file, []byte(strings.Replace(content, "total: "+strconv.Itoa(b.caps), "total: 99", 1)), 0o600))
			r.signal(syscall.SIGHUP)
			r.must(os.WriteFile(r.file, []byte(content), 0o600))
			r.signal(syscall.SIGHUP)
		}},
		{"a link in its place", func(content string) {
			r.mount("..1", content)
			r.must(os.Remove(r.file))
			r.must(os.Symlink(filepath.Join("..data", filepath.Base(r.file)), r.file))
		}},
		{"a directory swapped behind the link", func(content string) { r.mount("..2", content) }},
	} {
		way.change(text())
		inForce(way.name)
	}
	r.badContents(t, b)
	b.caps = 1 // fewer than run
	r.must(os.WriteFile(r.file, []byte(loopbackDoors+b.policy()), 0o600))
	r.signal(syscall.SIGHUP)
	eventually(t, "those who come wait, and those who run go on", func() bool { return r.waiting() == 2 && r.held() == 20 })
	b.caps = 41
	r.must(os.WriteFile(r.file, []byte(loopbackDoors+b.policy()), 0o600))
	r.signal(syscall.SIGHUP)
	inForce("the higher cap")
	work.end()
	r.allComplete()
	r.zero(b.short...)
}

// mount writes a directory with the file and swaps it in as Kubernetes does with a
// ConfigMap: the link "..data" leads to it at once.
func (r *rig) mount(name, content string) {
	r.t.Helper()
	at := filepath.Dir(r.file)
	r.must(os.Mkdir(filepath.Join(at, name), 0o700))
	r.must(os.WriteFile(filepath.Join(at, name, filepath.Base(r.file)), []byte(content), 0o600))
	r.must(os.Symlink(name, filepath.Join(at, "..next")))
	r.must(os.Rename(filepath.Join(at, "..next"), filepath.Join(at, "..data")))
}

// badContents puts what can't be used into the file: the old stays in force.
func (r *rig) badContents(t *testing.T, b *bench) {
	good := loopbackDoors + b.policy()
	for name, content := range map[string]string{
		"broken YAML": good + "\n : : [", "nothing": "", "half a file": good[:len(good)/2],
		"a replica twice": strings.Replace(good, "replicas: [", "replicas: ["+strconv.Quote(b.short[0].URL())+", ", 1),
		"an unknown key":  strings.Replace(good, "cap:", "kap:", 1), "a negative cap": strings.Replace(good, "{total: ", "{total: -", 1),
	} {
		before := r.metrics()[`sluice_config_reloads_total{result="failure"}`]
		r.must(os.WriteFile(r.file, []byte(content), 0o600))
		r.signal(syscall.SIGHUP)
		eventually(t, name+" is refused", func() bool { return r.metrics()[`sluice_config_reloads_total{result="failure"}`] > before })
		if m := r.metrics(); m["sluice_config_last_reload_success"] != 0 || r.capOf(b.short[0]) != b.caps || !strings.Contains(r.log.String(), "reload refused") {
			t.Errorf("%s: success %v, cap %d", name, m["sluice_config_last_reload_success"], r.capOf(b.short[0]))
		}
	}
	r.must(os.WriteFile(r.file, []byte(good), 0o600))
	r.signal(syscall.SIGHUP)
	eventually(t, "all is well again", func() bool { return r.metrics()["sluice_config_last_reload_success"] == 1 })
}

// TestMovedReplicas: one in use that is taken out of the file ends what it has and
// gets nothing more; one that moves to another pool serves there.
func TestMovedReplicas(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.caps = 8
	b.timeouts["between_events"] = "1m"
	r := b.start(t)
	work := r.busy(12, "served-long", b.all()) // those of the short pool are nobody's beside
	leaver, mover := b.short[0], b.short[1]
	b.short = []*gt.Replica{mover}
	r.reload(b.policy())
	asked := len(leaver.Calls())
	for range 10 {
		if answer := r.post(gt.ChatBody("served-short", "hi", false)); answer.Status != 200 {
			t.Errorf("the rest of the pool: status %d", answer.Status)
		}
	}
	if n := len(leaver.Calls()); n != asked {
		t.Errorf("a replica that has left got %d calls more", n-asked)
	}
	before := b.long
	b.short, b.long = []*gt.Replica{leaver}, []*gt.Replica{mover}
	r.reload(b.policy())
	eventually(t, "the replica that has moved serves in its new pool, under its name there", func() bool {
		asked := mover.Calls()
		return strings.Contains(string(asked[len(asked)-1].Body), `"served-long"`)
	})
	b.long = append(before, mover)
	r.reload(b.policy())
	eventually(t, "all are back", func() bool { return r.ready() == 4 })
	work.end()
	r.allComplete()
	r.zero(b.all()...)
}

// allComplete checks that nothing was lost, whatever happened.
func (r *rig) allComplete() {
	r.t.Helper()
	for _, l := range r.lines() {
		if l.Outcome != router.Completed.String() {
			r.t.Fatalf("not every request completed: %+v", l)
		}
	}
}

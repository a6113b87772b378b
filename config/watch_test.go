package config

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// file is a watched file and what is done to it.
type file struct {
	*testing.T
	dir, name string
}

func newFile(t *testing.T) file {
	dir := t.TempDir()
	f := file{t, dir, filepath.Join(dir, "sluice.yaml")}
	f.write("one")
	return f
}

func (f file) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f file) write(content string) {
	f.Helper()
	f.must(os.WriteFile(f.name, []byte(content), 0o600))
}

func (f file) rename(content string) {
	f.Helper()
	f.must(os.WriteFile(f.name+".new", []byte(content), 0o600))
	f.must(os.Rename(f.name+".new", f.name))
}

// swap is what the kubelet does: a new directory, and one symlink renamed.
func (f file) swap(version, content string) {
	f.Helper()
	dir := filepath.Join(f.dir, version)
	f.must(os.Mkdir(dir, 0o700))
	f.must(os.WriteFile(filepath.Join(dir, "sluice.yaml"), []byte(content), 0o600))
	f.must(os.Symlink(dir, filepath.Join(f.dir, "..data_tmp")))
	f.must(os.Rename(filepath.Join(f.dir, "..data_tmp"), filepath.Join(f.dir, "..data")))
}

// polls checks what successive polls say.
func (f file) polls(w *Watcher, want ...bool) {
	f.Helper()
	for i, reported := range want {
		if got := w.poll(); got != reported {
			f.Errorf("poll %d: got %v, want %v", i, got, reported)
		}
	}
}

func TestWatcherSeesEachWayOfChanging(t *testing.T) {
	f := newFile(t)
	w := NewWatcher(f.name)
	f.polls(w, false, false)
	f.write("two")
	f.polls(w, false, true, false)
	f.rename("three")
	f.polls(w, false, true, false)
	f.must(os.Remove(f.name))
	f.polls(w, false, false)
	f.write("four")
	f.polls(w, false, true, false)
	f.must(os.Remove(f.name))
	f.polls(w, false)
	f.write("four") // as it was
	f.polls(w, false, false)
	f.must(os.Chtimes(f.name, time.Unix(1, 0), time.Unix(1, 0)))
	f.polls(w, false, false)
}

func TestWatcherSeesConfigMaps(t *testing.T) {
	f := newFile(t)
	f.swap("v1", "one")
	link := filepath.Join(f.dir, "mounted.yaml")
	f.must(os.Symlink(filepath.Join("..data", "sluice.yaml"), link))
	w := NewWatcher(link)
	f.polls(w, false)
	f.swap("v2", "two")
	f.polls(w, false, true, false)
}

func TestWatcherWaitsForTheWholeFile(t *testing.T) {
	f := newFile(t)
	w := NewWatcher(f.name)
	for _, half := range []string{"", "t", "tw"} {
		f.write(half)
		f.polls(w, false)
	}
	f.write("two")
	f.polls(w, false, true)
	f.write("x")
	f.polls(w, false)
	f.write("two") // back before it settled
	f.polls(w, false, false)
}

func TestWatcherOfAFileToCome(t *testing.T) {
	f := newFile(t)
	f.must(os.Remove(f.name))
	w := NewWatcher(f.name)
	f.polls(w, false, false)
	f.write("one")
	f.polls(w, false, true, false)
}

func TestWatchReportsInTime(t *testing.T) {
	f := newFile(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		changed, ended := make(chan time.Time, 1), make(chan struct{})
		go func() {
			NewWatcher(f.name).Run(ctx, time.Second, func() { changed <- time.Now() })
			close(ended)
		}()
		synctest.Wait()
		start := time.Now()
		f.write("two")
		if got := (<-changed).Sub(start); got != 2*time.Second {
			t.Errorf("reported after %s, want 2s", got)
		}
		stop()
		<-ended
	})
}

func TestWatcherFollowsTheFilesThatTheConfigurationNames(t *testing.T) {
	f := newFile(t)
	cert, key := filepath.Join(f.dir, "cert.pem"), filepath.Join(f.dir, "key.pem")
	f.must(os.WriteFile(cert, []byte("old"), 0o600))
	w := NewWatcher(f.name)
	w.Follow([]string{cert, key})
	f.polls(w, false, false)
	f.must(os.WriteFile(cert, []byte("new"), 0o600))
	f.must(os.WriteFile(key, []byte("new"), 0o600))
	f.polls(w, false, true, false) // both, reported once
	f.must(os.WriteFile(cert, []byte("newer"), 0o600))
	w.Follow([]string{cert}) // again, as after a reload: the change is not forgotten
	f.must(os.WriteFile(key, []byte("newer"), 0o600))
	f.polls(w, false, true, false)
	w.Follow(nil)
	f.must(os.WriteFile(cert, []byte("newest"), 0o600))
	f.polls(w, false, false)
	f.write("two")
	f.polls(w, false, true)
}

func TestFollowingAndPollingAtOnce(t *testing.T) {
	f := newFile(t)
	w := NewWatcher(f.name)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 100 {
			w.Follow([]string{f.name})
		}
	}()
	for range 100 {
		w.poll()
	}
	<-done
}

func TestFilesThatAConfigurationNames(t *testing.T) {
	c := Default()
	c.Listeners.Data.TLS = TLS{Cert: "c", Key: "k"}
	c.Listeners.Ops.TLS = TLS{Cert: "c", Key: "k"}
	c.Listeners.Control.Token.File = "token"
	c.Pools["a"] = Pool{APIKey: Secret{File: "key"}, CA: "ca", Tokenizer: "not watched"}
	c.Pools["b"] = Pool{APIKey: Secret{Env: "B"}}
	want := []string{"c", "ca", "k", "key", "token"}
	if got := c.Files(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

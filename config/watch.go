package config

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

// Watcher notices that the content of a file has changed, or of one of the files
// that it was told to follow besides. It reads them again and again instead of
// asking the kernel: a watch on an inode misses the symlink swap of a Kubernetes
// ConfigMap, dies with delete and create, and never fires on some network file
// systems.
type Watcher struct {
	file *watched

	mu       sync.Mutex // guards followed
	followed map[string]*watched
}

// watched is one file. Only poll changes it.
type watched struct {
	path    string
	current [sha256.Size]byte // last reported, or the content at the start
	pending [sha256.Size]byte // seen in the last poll
}

// NewWatcher takes the file's present content as known. Make it before Load,
// so that a change between the two is noticed.
func NewWatcher(path string) *Watcher { return &Watcher{file: newWatched(path)} }

// Follow watches these files too, instead of those of the last call. Their
// present content is known from now on: call it with Config.Files before the
// files are read.
func (w *Watcher) Follow(paths []string) {
	before := w.follows()
	now := make(map[string]*watched, len(paths))
	for _, path := range paths {
		now[path] = before[path]
		if now[path] == nil {
			now[path] = newWatched(path)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.followed = now
}

func (w *Watcher) follows() map[string]*watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.followed
}

// Run calls changed each time a file has new content, until ctx ends; it waits
// for changed to return. Content is new when it differs from what was last
// reported and was the same in two successive polls, so that a file that is being
// written is left alone; it is reported after at least one and at most about two
// times every. A file that is missing or can't be read is no change.
func (w *Watcher) Run(ctx context.Context, every time.Duration, changed func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if w.poll() && ctx.Err() == nil {
				changed()
			}
		}
	}
}

// poll reads the files once and says whether there is something to report.
func (w *Watcher) poll() bool {
	news := w.file.poll()
	for _, f := range w.follows() {
		news = f.poll() || news
	}
	return news
}

func newWatched(path string) *watched {
	f := &watched{path: path}
	if sum, err := contentSum(path); err == nil {
		f.current = sum
	}
	f.pending = f.current
	return f
}

func (f *watched) poll() bool {
	sum, err := contentSum(f.path)
	if err != nil {
		f.pending = f.current // deleted, to be created: its next content is seen for the first time
		return false
	}
	settled := sum == f.pending
	f.pending = sum
	if !settled || sum == f.current {
		return false
	}
	f.current = sum
	return true
}

func contentSum(path string) ([sha256.Size]byte, error) {
	data, err := readFile(path)
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	return sha256.Sum256(data), nil
}

package config

import (
	"context"
	"crypto/sha256"
	"os"
	"time"
)

// Watcher notices that the content of a file has changed. It reads the file
// again and again instead of asking the kernel: a watch on an inode misses the
// symlink swap of a Kubernetes ConfigMap, dies with delete and create, and
// never fires on some network file systems.
type Watcher struct {
	path    string
	current [sha256.Size]byte // last reported, or the content at the start
	pending [sha256.Size]byte // seen in the last poll
}

// NewWatcher takes the file's present content as known. Make it before Load,
// so that a change between the two is noticed.
func NewWatcher(path string) *Watcher {
	w := &Watcher{path: path}
	if sum, err := contentSum(path); err == nil {
		w.current = sum
	}
	w.pending = w.current
	return w
}

// Watch is NewWatcher(path).Run(ctx, every, changed).
func Watch(ctx context.Context, path string, every time.Duration, changed func()) {
	NewWatcher(path).Run(ctx, every, changed)
}

// Run calls changed each time the file has new content, until ctx ends; it
// waits for changed to return. Content is new when it differs from what was
// last reported and was the same in two successive polls, so that a file that
// is being written is left alone; it is reported after at least one and at most
// about two times every. A file that is missing or can't be read is no change.
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

// poll reads the file once and says whether there is something to report.
func (w *Watcher) poll() bool {
	sum, err := contentSum(w.path)
	if err != nil {
		w.pending = w.current // deleted, to be created: its next content is seen for the first time
		return false
	}
	settled := sum == w.pending
	w.pending = sum
	if !settled || sum == w.current {
		return false
	}
	w.current = sum
	return true
}

func contentSum(path string) ([sha256.Size]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	return sha256.Sum256(data), nil
}

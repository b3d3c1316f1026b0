// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package configfile

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is how long after a change the file is read: an editor writes in steps.
	settle = 100 * time.Millisecond
	// recheck is how often the file is read without a sign of change. File events get lost on some file systems, and what
	// the file names may have changed.
	recheck = 30 * time.Second
)

// Watch calls reload once, whenever the file may have changed, and now and then, until ctx ends. The file's directory must be
// there. The error is that it cannot be watched.
func Watch(ctx context.Context, file string, log *slog.Logger, reload func()) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch the config file %s: %w", file, err)
	}
	defer watcher.Close() //nolint:errcheck // nothing to lose
	// A mounted ConfigMap changes by a link in its directory, not by a write to the file.
	if err := watcher.Add(filepath.Dir(file)); err != nil {
		return fmt.Errorf("watch the directory of the config file %s: %w", file, err)
	}
	// The first look is at what changed before the watch.
	timer := time.NewTimer(settle)
	defer timer.Stop()
	settling := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-watcher.Events:
			if !settling {
				settling = true
				timer.Reset(settle)
			}
		case err := <-watcher.Errors:
			log.Warn("watching the config file", "file", file, "err", err)
		case <-timer.C:
			settling = false
			timer.Reset(recheck)
			reload()
		}
	}
}

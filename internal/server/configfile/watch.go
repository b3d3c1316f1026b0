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
	// settle is the delay between a change and reading the file, because editors write in several steps.
	settle = 100 * time.Millisecond
	// recheck is the interval at which the file is read without a change. Some file systems lose events, and files that the
	// config file refers to may have changed.
	recheck = 30 * time.Second
)

// Watch calls reload once at the start, after each possible change of the file, and every 30 s, until ctx ends. The file's
// directory must exist. The error means that it cannot be watched.
func Watch(ctx context.Context, file string, log *slog.Logger, reload func()) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch the config file %s: %w", file, err)
	}
	defer watcher.Close() //nolint:errcheck // close errors do not matter
	// In a mounted ConfigMap, the kubelet replaces a symbolic link in the directory and does not write to the file.
	if err := watcher.Add(filepath.Dir(file)); err != nil {
		return fmt.Errorf("watch the directory of the config file %s: %w", file, err)
	}
	// The first reload detects changes from before the watch.
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
			log.Warn("error while watching the config file", "file", file, "err", err)
		case <-timer.C:
			settling = false
			timer.Reset(recheck)
			reload()
		}
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package watch waits until files below a directory change.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is the time without changes after which the files are read, because editors and git write in steps.
	settle = 100 * time.Millisecond
	// patience is the maximum delay of reading the files while changes continue.
	patience = time.Second
)

// Watcher watches a directory and all directories below it, those that are made later too, but for .git. It is used by one
// goroutine at a time.
type Watcher struct {
	dir      string
	notifier *fsnotify.Watcher
}

// New watches a directory; a symbolic link to one is followed. Close must be called in the end.
func New(dir string) (*Watcher, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	notifier, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	w := &Watcher{dir, notifier}
	if err := w.addDirectories(); err != nil {
		return nil, errors.Join(err, notifier.Close())
	}
	return w, nil
}

// Close ends the watch.
func (w *Watcher) Close() error { return w.notifier.Close() }

// Wait waits until the files differ from known, and returns the paths of the changed files, sorted. A file that is written again with
// the same content has not changed. Wait returns nil when ctx ends.
func (w *Watcher) Wait(ctx context.Context, known Files) ([]string, error) {
	for {
		// What is made in a directory before it is watched is among its files, and what is made later is an event.
		if err := w.addDirectories(); err != nil {
			return nil, err
		}
		files, err := w.Files()
		if err != nil {
			return nil, err
		}
		if changed := known.changed(files); len(changed) > 0 {
			return changed, nil
		}
		if err := w.next(ctx); err != nil || ctx.Err() != nil {
			return nil, err
		}
	}
}

// next waits for an event, and then until the events pause.
func (w *Watcher) next(ctx context.Context) error {
	var pause, deadline <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.notifier.Events:
			if deadline == nil {
				deadline = time.After(patience)
			}
			pause = time.After(settle)
		case err := <-w.notifier.Errors:
			// Events that were lost may have been any.
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("watch %s: %w", w.dir, err)
			}
			pause = time.After(settle)
		case <-pause:
			return nil
		case <-deadline:
			return nil
		}
	}
}

// addDirectories watches all directories. One that is watched already stays so.
func (w *Watcher) addDirectories() error {
	return filepath.WalkDir(w.dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case path != w.dir && errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("watch %s: %w", path, err)
		case !entry.IsDir():
			return nil
		case entry.Name() == ".git":
			return fs.SkipDir
		}
		if err := w.notifier.Add(path); err != nil && (path == w.dir || !errors.Is(err, fs.ErrNotExist)) {
			return fmt.Errorf("watch %s: %w", path, err)
		}
		return nil
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// keptScratch is how many unused scratch directories are kept. Making and removing one takes a journalling file system
// longer than everything else that is done for a call.
const keptScratch = 64

// scratch hands out the empty directories that functions get as TMPDIR. Functions share a file system, and what one call
// leaves behind must not reach the next: a directory that was left empty is handed out again, any other is removed.
type scratch struct {
	root string
	free chan *directory
}

func newScratch(root string) *scratch {
	return &scratch{root: root, free: make(chan *directory, keptScratch)}
}

// take returns an empty directory that nobody else has.
func (s *scratch) take() (*directory, error) {
	for {
		select {
		case dir := <-s.free:
			// Whoever cleans up temporary files, or a process that outlived its call, may have been here.
			if dir.pristine() {
				return dir, nil
			}
			remove(dir.path)
		default:
			path, err := os.MkdirTemp(s.root, "krm-function-*")
			return &directory{path: path}, err
		}
	}
}

// give takes a directory back.
func (s *scratch) give(dir *directory) {
	if dir.pristine() {
		select {
		case s.free <- dir:
			return
		default:
		}
	}
	remove(dir.path)
}

// close removes the directories that are kept.
func (s *scratch) close() {
	for {
		select {
		case dir := <-s.free:
			remove(dir.path)
		default:
			return
		}
	}
}

// directory is a scratch directory. It is for one goroutine at a time.
type directory struct {
	path string
	// empty is how it was when it was found empty. It is zero while that was so recent that it could have changed since without a
	// trace in its times, which are those of the system's clock ticks.
	empty unix.Stat_t
}

// tick is more than the time between two ticks of the clock that files have their times from.
const tick = 20 * time.Millisecond

// pristine tells whether the directory is as it was made: private, writable, and empty. It may have the group of the volume that it is in.
func (d *directory) pristine() bool {
	var now unix.Stat_t
	looked := time.Now()
	if unix.Lstat(d.path, &now) != nil || now.Mode&^unix.S_ISGID != unix.S_IFDIR|0o700 {
		return false
	}
	// Nobody can set the time of a change.
	if now.Ino == d.empty.Ino && now.Dev == d.empty.Dev && now.Ctim == d.empty.Ctim {
		return true
	}
	f, err := os.Open(d.path)
	if err != nil {
		return false
	}
	defer f.Close()
	if _, err = f.Readdirnames(1); !errors.Is(err, io.EOF) {
		return false
	}
	if looked.Sub(time.Unix(now.Ctim.Unix())) > tick {
		d.empty = now
	}
	return true
}

// remove removes a directory with all that is in it.
func remove(dir string) {
	if os.Remove(dir) == nil || os.RemoveAll(dir) == nil {
		return
	}
	// A function may have taken away its own permissions.
	makeAccessible(dir)
	_ = os.RemoveAll(dir)
}

// makeAccessible gives back the permissions of a directory and those below it. It does not follow links that lead out:
// what is in there may still be changed by a process that outlived its call.
func makeAccessible(dir string) {
	if os.Chmod(dir, 0o700) != nil { //nolint:gosec // a directory needs its x bit to be emptied
		return
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = root.Chmod(path, 0o700)
		}
		return nil
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// keptScratch is how many unused scratch directories are kept. Making and removing one takes a journalling file system
// longer than everything else that is done for a call.
const keptScratch = 64

// scratch hands out the empty directories that functions get as TMPDIR. Functions share a file system, and what one call
// leaves behind must not reach the next: a directory that was left empty is handed out again, any other is removed.
type scratch struct {
	root string
	free chan string
}

func newScratch(root string) *scratch {
	return &scratch{root: root, free: make(chan string, keptScratch)}
}

// take returns an empty directory that nobody else has.
func (s *scratch) take() (string, error) {
	for {
		select {
		case dir := <-s.free:
			// Whoever cleans up temporary files, or a process that outlived its call, may have been here.
			if pristine(dir) {
				return dir, nil
			}
			remove(dir)
		default:
			return os.MkdirTemp(s.root, "krm-function-*")
		}
	}
}

// give takes a directory back.
func (s *scratch) give(dir string) {
	if pristine(dir) {
		select {
		case s.free <- dir:
			return
		default:
		}
	}
	remove(dir)
}

// close removes the directories that are kept.
func (s *scratch) close() {
	for {
		select {
		case dir := <-s.free:
			remove(dir)
		default:
			return
		}
	}
}

// pristine tells whether a directory is as it was made: private, writable, and empty. It may have the group of the volume that it is in.
func pristine(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || info.Mode()&^fs.ModeSetgid != fs.ModeDir|0o700 {
		return false
	}
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = f.Readdirnames(1)
	return errors.Is(err, io.EOF)
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

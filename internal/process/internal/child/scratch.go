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

// keptScratch is the maximum number of unused scratch directories that are kept. On a journaling file system, creating and removing a
// directory takes longer than the rest of a call's overhead.
const keptScratch = 64

// scratch provides the empty directories that functions get as TMPDIR. A file that one call leaves must not be visible to the next:
// only a directory that is empty is reused, and any other is removed.
type scratch struct {
	root string
	free chan *directory
}

func newScratch(root string) *scratch {
	return &scratch{root: root, free: make(chan *directory, keptScratch)}
}

// take returns an empty directory for exclusive use.
func (s *scratch) take() (*directory, error) {
	for {
		select {
		case dir := <-s.free:
			// A cleaner of temporary files, or a process that outlived its call, may have changed the directory.
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

// give returns a directory to the pool, or removes it.
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

// close removes the unused directories.
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

// directory is a scratch directory. It is not safe for concurrent use.
type directory struct {
	path string
	// empty is the directory's status when it was last found empty. It is zero if the directory had changed within the last tick: its
	// times have the resolution of clock ticks, so a further change might not have altered them.
	empty unix.Stat_t
}

// tick exceeds the resolution of file times.
const tick = 20 * time.Millisecond

// pristine reports whether the directory is private, writable and empty. Its group and setgid bit may come from the volume that
// contains it.
func (d *directory) pristine() bool {
	var now unix.Stat_t
	looked := time.Now()
	if unix.Lstat(d.path, &now) != nil || now.Mode&^unix.S_ISGID != unix.S_IFDIR|0o700 {
		return false
	}
	// No process can set Ctim.
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

// remove removes a directory and its contents.
func remove(dir string) {
	if os.Remove(dir) == nil || os.RemoveAll(dir) == nil {
		return
	}
	// A function may have removed its own permissions.
	makeAccessible(dir)
	_ = os.RemoveAll(dir)
}

// makeAccessible restores the permissions of a directory and its subdirectories. It does not follow symbolic links out of the
// directory, because a process that outlived its call may still change its contents.
func makeAccessible(dir string) {
	if os.Chmod(dir, 0o700) != nil { //nolint:gosec // removing a directory's entries needs its x bit
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

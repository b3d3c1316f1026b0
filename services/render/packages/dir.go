// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Dir is a directory on disk. Reads and writes never leave it, whatever symbolic links it contains. A link to a file inside is
// followed, for reads and for writes; a link to a directory is skipped.
//
// If other processes may write to the directory, call Lock before reading.
type Dir struct {
	root     *os.Root
	location string
	// top is the open directory, for system calls that os.Root does not offer.
	top *os.File
	// lock is the locked directory, or nil; see Lock.
	lock *os.File
	// intercept, unless nil, is called before each step of Apply. For tests.
	intercept func(step, path string) error

	// mu guards the fields below.
	mu sync.Mutex
	// read holds the first result of ReadFile for each path.
	read map[string]readRecord
	// leftovers are temporary files found by Paths. They belong to an Apply that was killed or is still running.
	leftovers []string
}

// readRecord is the state of a file when it was read.
type readRecord struct {
	stat    *unix.Stat_t
	content []byte
	// settled reports whether a later change must alter the file's modification time. File times have a coarse resolution, so a
	// change right after the previous one may leave the time as it was.
	settled bool
}

// OpenDir opens a directory, or the directory that a symbolic link leads to. Call Close when done.
func OpenDir(dir string) (*Dir, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, err
	}
	top, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Dir{root: root, location: abs, top: top, read: map[string]readRecord{}}, nil
}

// Close closes the directory and releases its lock.
func (d *Dir) Close() error {
	d.release()
	return errors.Join(d.top.Close(), d.root.Close())
}

// Location returns the absolute path of the directory, without symbolic links.
func (d *Dir) Location() string { return filepath.ToSlash(d.location) }

// absolute converts a path of the tree to an absolute path in the system's notation.
func (d *Dir) absolute(p string) string { return filepath.Join(d.location, filepath.FromSlash(p)) }

// Paths returns all regular files outside .git directories, except temporary files of Apply, and all symbolic links that do not
// lead to a directory.
func (d *Dir) Paths() ([]string, error) {
	var paths, leftovers []string
	err := fs.WalkDir(dirLister{d.root.FS(), d}, ".", func(p string, entry fs.DirEntry, err error) error {
		switch {
		// Files and directories deleted during the walk are skipped.
		case p != "." && errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case entry.IsDir() && isGit(entry.Name()):
			return fs.SkipDir
		case entry.Type().IsRegular() && isTemp(entry.Name()):
			leftovers = append(leftovers, p)
		case entry.Type().IsRegular(), entry.Type()&fs.ModeSymlink != 0 && !d.isDir(p):
			paths = append(paths, p)
		}
		return nil
	})
	d.mu.Lock()
	d.leftovers = leftovers
	d.mu.Unlock()
	return paths, err
}

// dirLister reads directories with one getdents call and takes the types of files from it. The fs.FS of os.Root calls lstat for
// every file.
type dirLister struct {
	fs.FS
	dir *Dir
}

func (l dirLister) ReadDir(name string) ([]fs.DirEntry, error) {
	fd, err := openBelow(int(l.dir.top.Fd()), name)
	if err != nil {
		return fs.ReadDir(l.FS, name)
	}
	f := os.NewFile(uintptr(fd), l.dir.absolute(name))
	defer f.Close() //nolint:errcheck // Only read from.
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

func (d *Dir) isDir(p string) bool {
	info, err := d.root.Stat(p)
	return err == nil && info.IsDir()
}

// ReadFile returns a file's content. Apply later fails if the file has changed since. ReadFile fails for a symbolic link that
// points outside the directory.
func (d *Dir) ReadFile(p string) ([]byte, error) {
	content, stat, err := d.readFile(p)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.read[p]; !known {
		d.read[p] = readRecord{stat, content, time.Since(modified(stat)) > slowestClock}
	}
	return content, nil
}

func (d *Dir) readFile(p string) ([]byte, *unix.Stat_t, error) {
	if fd, err := openBelow(int(d.top.Fd()), p); err == nil {
		defer unix.Close(fd) //nolint:errcheck // Only read from.
		return d.readOpen(p, fd)
	}
	// Without O_NONBLOCK, opening a pipe blocks until a writer opens it.
	f, err := d.root.OpenFile(p, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, d.explain(p, err)
	}
	defer f.Close() //nolint:errcheck // Only read from.
	return d.readOpen(p, int(f.Fd()))
}

func (d *Dir) readOpen(p string, fd int) ([]byte, *unix.Stat_t, error) {
	now, err := stat(fd)
	if err != nil {
		return nil, nil, d.explain(p, err)
	}
	if kind(now) != unix.S_IFREG {
		return nil, nil, fmt.Errorf("%s is not a regular file", d.absolute(p))
	}
	content, err := readAll(fd, now.Size)
	if err != nil {
		return nil, nil, d.explain(p, err)
	}
	return content, now, nil
}

// slowestClock is the coarsest resolution of modification times: FAT's.
const slowestClock = 2 * time.Second

// checkRead fails if a file that was read and is not among the changes has changed on disk.
func (d *Dir) checkRead(changes []Change) error {
	d.mu.Lock()
	read := maps.Clone(d.read)
	d.mu.Unlock()
	for _, c := range changes {
		delete(read, c.Path)
	}
	var first *ChangedError
	for p, was := range read {
		var now unix.Stat_t
		if was.settled && retryEINTR(func() error { return unix.Stat(d.absolute(p), &now) }) == nil && untouched(&now, was.stat) {
			continue
		}
		changed := &ChangedError{Path: d.absolute(p)}
		switch now, _, err := d.readFile(p); {
		case errors.Is(err, fs.ErrNotExist):
			changed.how = deleted
		case err == nil && bytes.Equal(now, was.content):
			continue
		}
		if first == nil || changed.Path < first.Path {
			first = changed
		}
	}
	if first != nil {
		return first
	}
	return nil
}

// forget drops all results of ReadFile.
func (d *Dir) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.read)
}

// explain adds to the error of reading a file that the file is a symbolic link, if it is one.
func (d *Dir) explain(p string, err error) error {
	if info, lerr := d.root.Lstat(p); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a symbolic link that points outside the package or to nothing: replace it with the file",
			d.absolute(p))
	}
	return fmt.Errorf("%s: %w", d.location, err)
}

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

// Dir is a directory on disk. Nothing outside of it is read or written, whatever symbolic links it holds: linked files are
// read and written through where they lie inside, linked directories are left out.
//
// Where another process may be at work in it, Lock comes first, and then what is read stays what Apply changes.
type Dir struct {
	root     *os.Root
	location string
	// top is the directory, for calls that os.Root does not have.
	top *os.File
	// lock is the directory while it is locked; see Lock.
	lock *os.File
	// intercept, unless nil, is called before each step of Apply.
	intercept func(step, path string) error

	// mu guards the rest.
	mu sync.Mutex
	// read has what ReadFile has returned, by path. Of a file that was read twice it is the first.
	read map[string]reading
	// leftovers are the files that Paths has found of an Apply that was killed, or that is at work.
	leftovers []string
}

// reading is what a file was when it was read.
type reading struct {
	stat    *unix.Stat_t
	content []byte
	// settled is whether a later change of the file shows in its time, which moves in steps.
	settled bool
}

// OpenDir opens a directory; a symbolic link to one is followed. Close must be called in the end.
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
	return &Dir{root: root, location: abs, top: top, read: map[string]reading{}}, nil
}

// Close releases the directory.
func (d *Dir) Close() error {
	d.release()
	return errors.Join(d.top.Close(), d.root.Close())
}

// Location returns the absolute path of the directory, without symbolic links.
func (d *Dir) Location() string { return filepath.ToSlash(d.location) }

// absolute returns a path of the system.
func (d *Dir) absolute(p string) string { return filepath.Join(d.location, filepath.FromSlash(p)) }

// Paths returns all regular files outside of .git directories but those that Apply makes for a time, and all symbolic links but
// those to directories.
func (d *Dir) Paths() ([]string, error) {
	var paths, leftovers []string
	err := fs.WalkDir(listed{d.root.FS(), d}, ".", func(p string, entry fs.DirEntry, err error) error {
		switch {
		// What is deleted meanwhile is not there.
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

// listed lists directories without asking for each file what it is, as that of os.Root does, where the system says it with the name.
type listed struct {
	fs.FS
	dir *Dir
}

func (l listed) ReadDir(name string) ([]fs.DirEntry, error) {
	fd, err := openBelow(int(l.dir.top.Fd()), name)
	if err != nil {
		return fs.ReadDir(l.FS, name)
	}
	f := os.NewFile(uintptr(fd), l.dir.absolute(name))
	defer f.Close() //nolint:errcheck // Nothing was written.
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

func (d *Dir) isDir(p string) bool {
	info, err := d.root.Stat(p)
	return err == nil && info.IsDir()
}

// ReadFile returns a file's content, which Apply then finds changed or not. A symbolic link that leads out of the directory is
// an error.
func (d *Dir) ReadFile(p string) ([]byte, error) {
	content, stat, err := d.readFile(p)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.read[p]; !known {
		d.read[p] = reading{stat, content, time.Since(modified(stat)) > slowestClock}
	}
	return content, nil
}

func (d *Dir) readFile(p string) ([]byte, *unix.Stat_t, error) {
	if fd, err := openBelow(int(d.top.Fd()), p); err == nil {
		defer unix.Close(fd) //nolint:errcheck // Nothing was written.
		return d.readOpen(p, fd)
	}
	// Opening a pipe would wait for ever otherwise.
	f, err := d.root.OpenFile(p, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, d.explain(p, err)
	}
	defer f.Close() //nolint:errcheck // Nothing was written.
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

// slowestClock is the longest step of the times of files: that of FAT.
const slowestClock = 2 * time.Second

// checkRead checks that the files that were read and are not changed are as they were.
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
		if was.settled && again(func() error { return unix.Stat(d.absolute(p), &now) }) == nil && untouched(&now, was.stat) {
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

// forget forgets what was read.
func (d *Dir) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.read)
}

// explain adds what is special about links to an error.
func (d *Dir) explain(p string, err error) error {
	if info, lerr := d.root.Lstat(p); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a symbolic link that leads out of the package or to nothing: put the file in its place",
			d.absolute(p))
	}
	return fmt.Errorf("%s: %w", d.location, err)
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// LockedError reports that another process is changing the directory.
type LockedError struct {
	// Dir is the absolute path of the directory.
	Dir string
}

func (e *LockedError) Error() string {
	return e.Dir + " is being changed by another krmfn: wait until it has ended"
}

// CheckWritable returns nil if the directory or any file in it can be written to, or else the reason.
func (d *Dir) CheckWritable() error {
	err := unix.Access(d.location, unix.W_OK)
	if err == nil {
		return nil
	}
	paths, _ := d.Paths() // A file that cannot be listed cannot be written either.
	for _, p := range paths {
		if unix.Access(d.absolute(p), unix.W_OK) == nil {
			return nil
		}
	}
	return fmt.Errorf("%s cannot be written to: %w", d.location, err)
}

// Lock takes an exclusive lock on the directory until Close, so that a render does not start if another process is changing the
// files. The kernel releases the lock when the process ends. The lock does not cover other machines that share the file system,
// nor directories above or below; there, Apply detects changes. If another process holds the lock, the error is a *LockedError.
func (d *Dir) Lock() error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	// On file systems without locks, Lock succeeds; Apply detects changes.
	if errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) {
		_ = f.Close()
		return &LockedError{Dir: d.location}
	}
	d.lock = f
	return nil
}

func (d *Dir) release() {
	if d.lock != nil {
		unlock(d.lock)
		d.lock = nil
	}
}

// unlock releases the lock explicitly. Closing the file is not enough: a child process between fork and exec still has a copy
// of the descriptor, which would keep the lock.
func unlock(f *os.File) {
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	_ = f.Close()
}

const tempPrefix, tempSuffix = ".krmfn-", ".tmp"

func isTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

// removeLeftovers deletes temporary files of an Apply that was killed. It skips files that may belong to a running Apply, which
// holds a lock on the directory or on one above it. Deletion errors are ignored, because leftover files do no harm.
func (d *Dir) removeLeftovers() {
	d.mu.Lock()
	leftovers := d.leftovers
	d.leftovers = nil
	d.mu.Unlock()
	idle := map[string]bool{d.location: true}
	for _, p := range leftovers {
		if file := d.absolute(p); isIdle(filepath.Dir(file), idle) {
			_ = d.root.Remove(p)
		}
	}
}

// isIdle reports whether no other process has locked dir or a directory above it. known caches results by directory.
func isIdle(dir string, known map[string]bool) bool {
	free, ok := known[dir]
	if !ok {
		free = tryLock(dir)
		known[dir] = free
	}
	parent := filepath.Dir(dir)
	return free && (parent == dir || isIdle(parent, known))
}

func tryLock(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return errors.Is(err, fs.ErrPermission) // A directory that this user may not open does not block the cleanup.
	}
	defer unlock(f)
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil
}

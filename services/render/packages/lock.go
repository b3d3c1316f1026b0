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

// LockedError says that another process changes a directory.
type LockedError struct {
	// Dir is the absolute path of the directory.
	Dir string
}

func (e *LockedError) Error() string {
	return e.Dir + " is being changed by another krmfn: wait until it has ended"
}

// CheckWritable says why nothing in the directory can be written to; nil where something can.
func (d *Dir) CheckWritable() error {
	err := unix.Access(d.location, unix.W_OK)
	if err == nil {
		return nil
	}
	paths, _ := d.Paths() // What cannot be read is not written to either.
	for _, p := range paths {
		if unix.Access(d.absolute(p), unix.W_OK) == nil {
			return nil
		}
	}
	return fmt.Errorf("%s cannot be written to: %w", d.location, err)
}

// Lock makes sure, before work is done for nothing, that no other process that locks the directory changes it until Close.
// The system ends the lock with the process. A lock is not known on other machines that share the file system, nor in the
// directories above and below: there Apply finds what has changed. The error is a *LockedError.
func (d *Dir) Lock() error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	// Where the file system knows no locks, Apply still finds what has changed.
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

// unlock ends a lock. Closing the file alone leaves it to a process that is being started, which has the file open, too, until it
// executes its program.
func unlock(f *os.File) {
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	_ = f.Close()
}

const tempPrefix, tempSuffix = ".krmfn-", ".tmp"

func isTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

// removeLeftovers removes the files that a killed Apply has left. Those of one that is at work are in or below a directory
// that it has locked. One that cannot be removed harms nobody.
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

// isIdle tells whether neither a directory nor one above it is locked by others. known has what was found out before.
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
		return errors.Is(err, fs.ErrPermission) // Who may not look into it does not find what others do there either.
	}
	defer unlock(f)
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil
}

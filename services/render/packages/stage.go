// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"io/fs"
	"path"

	"golang.org/x/sys/unix"
)

// replacement is the creation, change or deletion of one file.
type replacement struct {
	name string
	// before is nil for a new file, after is nil for a deletion.
	before, after []byte
	// oldStat is the status of the old file; nil for a new file. newStat is the status of the new file.
	oldStat, newStat *unix.Stat_t
	// temp is the name of a temporary file in the same directory, or "". It holds the new content before the exchange and the
	// old content after it.
	temp string
	// inPlace is set if no temporary file can be created, so that the file itself is overwritten.
	inPlace bool
	// done is set once the file has changed. An overwrite in place may be incomplete.
	done bool
}

// targetsOf returns map keys that identify the file a change ends at: its path and, unless it is created or deleted, its device
// and inode.
func targetsOf(p string, was *unix.Stat_t, c Change) []any {
	if was == nil || c.After == nil {
		return []any{p}
	}
	return []any{p, [2]uint64{uint64(was.Dev), was.Ino}} //nolint:unconvert // The type of Dev differs between systems.
}

// stage checks that a file is unchanged since it was read, and writes the new content to a temporary file in its directory.
func (b *batch) stage(r *replacement) (err error) {
	if err := b.compare(r); err != nil {
		return err
	}
	if r.after == nil {
		return nil
	}
	mode := uint32(0o666)
	if r.oldStat != nil {
		mode = permissionsOf(r.oldStat)
	}
	temp := tempName()
	fd, err := b.create(r, temp, mode)
	if r.oldStat != nil && cannotReplace(err) {
		r.inPlace = true
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, unix.Close(fd)) }()
	r.temp = temp
	if err = b.beforeStep("write", r.name); err == nil {
		err = writeAll(fd, r.after)
	}
	if err == nil {
		r.newStat, err = inherit(fd, r.oldStat)
	}
	return err
}

// tempName returns the name of a temporary file. Paths skips such names, so that files left after a kill are not read as
// resources.
func tempName() string { return tempPrefix + rand.Text() + tempSuffix }

func (b *batch) create(r *replacement, temp string, mode uint32) (fd int, err error) {
	if err := b.beforeStep("create", r.name); err != nil {
		return 0, err
	}
	return openEntry(b.fd, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, mode)
}

// inherit gives a new file the owner, group and mode of the old file. If the process may not change the owner, the new file
// keeps its own.
func inherit(fd int, was *unix.Stat_t) (*unix.Stat_t, error) {
	made, err := stat(fd)
	if err != nil || was == nil {
		return made, err
	}
	switch {
	case made.Uid != was.Uid || made.Gid != was.Gid:
		if unix.Fchown(fd, int(was.Uid), int(was.Gid)) != nil {
			_ = unix.Fchown(fd, -1, int(was.Gid)) // A user may give a file to a group that the user is in.
		}
	case made.Mode == was.Mode:
		return made, nil
	}
	if err := unix.Fchmod(fd, permissionsOf(was)); err != nil {
		return nil, err
	}
	return stat(fd)
}

// compare checks that the file has the expected content, or is missing as expected, and that it is writable. A rename needs no
// write permission on the file, but a read-only file is meant to stay as it is.
func (b *batch) compare(r *replacement) error {
	switch {
	case r.oldStat == nil && r.before != nil:
		return b.changed(r, deleted)
	case r.oldStat == nil:
		return nil
	case kind(r.oldStat) == unix.S_IFDIR:
		return errors.New("it is a directory")
	case r.before == nil:
		return b.changed(r, appeared)
	}
	if err := b.beforeStep("read", r.name); err != nil {
		return err
	}
	if b.untouched(r) {
		return nil
	}
	if kind(r.oldStat) == unix.S_IFLNK { // Deletes the link, not its target.
		if content, _, err := b.readFile(path.Join(b.path, r.name)); err != nil || !bytes.Equal(content, r.before) {
			return b.changed(r, "")
		}
		return nil
	}
	flags := unix.O_RDWR
	if r.after == nil {
		flags = unix.O_RDONLY
	}
	fd, err := openEntry(b.fd, r.name, flags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return b.changed(r, deleted)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // Nothing was written to it.
	now, err := stat(fd)
	switch {
	case err != nil:
		return err
	case kind(now) != unix.S_IFREG:
		return errors.New("it is not a regular file")
	}
	r.oldStat = now
	content, err := readAll(fd, now.Size)
	if err != nil || !bytes.Equal(content, r.before) {
		return b.changed(r, "")
	}
	return nil
}

// untouched reports whether a writable file is unchanged since it was read, judging by its status alone.
func (b *batch) untouched(r *replacement) bool {
	b.mu.Lock()
	read, known := b.read[path.Join(b.path, r.name)]
	b.mu.Unlock()
	if !known || !read.settled || !bytes.Equal(read.content, r.before) {
		return false
	}
	now, err := statEntry(b.fd, r.name)
	if err != nil || !untouched(now, read.stat) || r.after != nil && unix.Faccessat(b.fd, r.name, unix.W_OK, unix.AT_EACCESS) != nil {
		return false
	}
	r.oldStat = now
	return true
}

func (b *batch) changed(r *replacement, how string) error {
	return &ChangedError{Path: b.absolute(path.Join(b.path, r.name)), how: how}
}

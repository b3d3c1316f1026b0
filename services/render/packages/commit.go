// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"cmp"
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// commit puts the new file into the place of the old one, if that is still the one that was compared.
func (b *batch) commit(r *replacement) (err error) {
	switch {
	case r.inPlace:
		return b.overwrite(r, r.after, r.was)
	case r.after == nil:
		r.temp = tempName()
		err = b.rename(r, r.name, r.temp)
	case r.was == nil:
		err = b.rename(r, r.temp, r.name)
	default:
		err = b.exchange(r)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return b.changed(r, deleted)
	case errors.Is(err, fs.ErrExist):
		return b.changed(r, appeared)
	case refused(err) && r.was != nil && r.after != nil:
		r.inPlace = true
		return b.overwrite(r, r.after, r.was)
	case err != nil:
		return err
	}
	r.done = true
	if r.was == nil {
		r.temp = ""
	} else if r.temp != "" && !b.is(r.temp, r.was) {
		// At once, before others see the new file.
		r.done = !b.revert(r)
		return b.changed(r, "")
	}
	return nil
}

// exchange lets the new file and the old one change places, so that what the old one has become meanwhile is not lost. Where
// the file system cannot do that, there is only a check just before.
func (b *batch) exchange(r *replacement) error {
	err := b.renameIn("exchange", r, r.temp, r.name, exchanging)
	if !unsupported(err) {
		return err
	}
	if !b.is(r.name, r.was) {
		return b.changed(r, "")
	}
	if err = unix.Renameat(b.fd, r.temp, b.fd, r.name); err == nil {
		r.temp = ""
	}
	return err
}

// rename gives a file a name that no other has.
func (b *batch) rename(r *replacement, from, to string) error {
	err := b.renameIn("rename", r, from, to, overwritingNone)
	if !unsupported(err) {
		return err
	}
	if _, err := statEntry(b.fd, to); !errors.Is(err, fs.ErrNotExist) {
		return fs.ErrExist
	}
	return unix.Renameat(b.fd, from, b.fd, to)
}

func (b *batch) renameIn(step string, r *replacement, from, to string, how uint) error {
	if err := b.at(step, r.name); err != nil {
		return err
	}
	return again(func() error { return renameIn(b.fd, from, to, how) })
}

// refused tells whether the user may not make, rename or delete files in a directory; or not this one, which is a mount.
func refused(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EBUSY)
}

// unsupported tells whether a file system has only the rename that overwrites.
func unsupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL)
}

// is tells whether a file is one that was seen before, and has not been changed.
func (b *batch) is(name string, seen *unix.Stat_t) bool {
	now, err := statEntry(b.fd, name)
	return err == nil && same(now, seen) && now.Mode == seen.Mode
}

// overwrite writes a content into the file itself, if that is still the one that was seen.
func (b *batch) overwrite(r *replacement, content []byte, seen *unix.Stat_t) (err error) {
	if err := b.at("overwrite", r.name); err != nil {
		return err
	}
	if !b.is(r.name, seen) {
		return b.changed(r, "")
	}
	fd, err := openEntry(b.fd, r.name, unix.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, unix.Close(fd)) }()
	r.done = true
	if err = writeAll(fd, content); err == nil {
		err = again(func() error { return unix.Ftruncate(fd, int64(len(content))) })
	}
	r.made, _ = stat(fd)
	return err
}

// revert takes a change back, and tells whether it could: what somebody has made of the new file since is left alone.
func (b *batch) revert(r *replacement) bool {
	if r.after == nil {
		return b.rename(r, r.temp, r.name) == nil
	}
	now, err := statEntry(b.fd, r.name)
	if err != nil || !same(now, r.made) {
		return false
	}
	switch {
	case r.was == nil:
		r.temp = tempName()
		if b.rename(r, r.name, r.temp) != nil {
			return false
		}
		return b.ours(r) || b.rename(r, r.temp, r.name) != nil
	case r.inPlace, r.temp == "", b.exchange(r) != nil:
		return b.overwrite(r, r.before, now) == nil
	case !b.ours(r):
		return b.exchange(r) != nil
	case now.Mode != r.made.Mode:
		return unix.Fchmodat(b.fd, r.name, permissionsOf(now), 0) == nil
	}
	return true
}

// ours tells whether what was set aside is what Apply has made.
func (b *batch) ours(r *replacement) bool {
	now, err := statEntry(b.fd, r.temp)
	return err == nil && same(now, r.made)
}

// discard removes what is beside a file. What cannot be removed is left for the next Apply.
func (b *batch) discard(r *replacement) error {
	if r.temp != "" && b.at("remove", r.name) == nil {
		_ = unix.Unlinkat(b.fd, r.temp, 0)
	}
	return nil
}

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

// commit moves the new file to the place of the old one, provided the old one is still the file that compare checked.
func (b *batch) commit(r *replacement) (err error) {
	switch {
	case r.inPlace:
		return b.overwrite(r, r.after, r.oldStat)
	case r.after == nil:
		r.temp = tempName()
		err = b.rename(r, r.name, r.temp)
	case r.oldStat == nil:
		err = b.rename(r, r.temp, r.name)
	default:
		err = b.exchange(r)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return b.changed(r, deleted)
	case errors.Is(err, fs.ErrExist):
		return b.changed(r, appeared)
	case cannotReplace(err) && r.oldStat != nil && r.after != nil:
		r.inPlace = true
		return b.overwrite(r, r.after, r.oldStat)
	case err != nil:
		return err
	}
	r.done = true
	if r.oldStat == nil {
		r.temp = ""
	} else if r.temp != "" && !b.isUnchanged(r.temp, r.oldStat) {
		// Restore the other process's change immediately.
		r.done = !b.revert(r)
		return b.changed(r, "")
	}
	return nil
}

// exchange swaps the new and the old file atomically, so that a concurrent change to the old file is not lost. On file systems
// that cannot swap, it checks the old file just before renaming over it.
func (b *batch) exchange(r *replacement) error {
	err := b.renameIn("exchange", r, r.temp, r.name, renameExchange)
	if !unsupported(err) {
		return err
	}
	if !b.isUnchanged(r.name, r.oldStat) {
		return b.changed(r, "")
	}
	if err = unix.Renameat(b.fd, r.temp, b.fd, r.name); err == nil {
		r.temp = ""
	}
	return err
}

// rename renames a file and fails if the target exists.
func (b *batch) rename(r *replacement, from, to string) error {
	err := b.renameIn("rename", r, from, to, renameNoReplace)
	if !unsupported(err) {
		return err
	}
	if _, err := statEntry(b.fd, to); !errors.Is(err, fs.ErrNotExist) {
		return fs.ErrExist
	}
	return unix.Renameat(b.fd, from, b.fd, to)
}

func (b *batch) renameIn(step string, r *replacement, from, to string, how uint) error {
	if err := b.beforeStep(step, r.name); err != nil {
		return err
	}
	return retryEINTR(func() error { return renameIn(b.fd, from, to, how) })
}

// cannotReplace reports whether an error means that files cannot be created, renamed or deleted in a directory, or that the
// file is a mount point.
func cannotReplace(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EBUSY)
}

// unsupported reports whether an error means that the file system supports only plain rename, which overwrites.
func unsupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL)
}

// isUnchanged reports whether a file is unchanged since seen was taken.
func (b *batch) isUnchanged(name string, seen *unix.Stat_t) bool {
	now, err := statEntry(b.fd, name)
	return err == nil && sameFile(now, seen) && now.Mode == seen.Mode
}

// overwrite writes content into the existing file, provided it is unchanged since seen was taken.
func (b *batch) overwrite(r *replacement, content []byte, seen *unix.Stat_t) (err error) {
	if err := b.beforeStep("overwrite", r.name); err != nil {
		return err
	}
	if !b.isUnchanged(r.name, seen) {
		return b.changed(r, "")
	}
	fd, err := openEntry(b.fd, r.name, unix.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, unix.Close(fd)) }()
	r.done = true
	if err = writeAll(fd, content); err == nil {
		err = retryEINTR(func() error { return unix.Ftruncate(fd, int64(len(content))) })
	}
	r.newStat, _ = stat(fd)
	return err
}

// revert undoes a change and reports whether it succeeded. It leaves a file alone if another process has changed it since.
func (b *batch) revert(r *replacement) bool {
	if r.after == nil {
		return b.rename(r, r.temp, r.name) == nil
	}
	now, err := statEntry(b.fd, r.name)
	if err != nil || !sameFile(now, r.newStat) {
		return false
	}
	switch {
	case r.oldStat == nil:
		r.temp = tempName()
		if b.rename(r, r.name, r.temp) != nil {
			return false
		}
		return b.isOwnTemp(r) || b.rename(r, r.temp, r.name) != nil
	case r.inPlace, r.temp == "", b.exchange(r) != nil:
		return b.overwrite(r, r.before, now) == nil
	case !b.isOwnTemp(r):
		return b.exchange(r) != nil
	case now.Mode != r.newStat.Mode:
		return unix.Fchmodat(b.fd, r.name, permissionsOf(now), 0) == nil
	}
	return true
}

// isOwnTemp reports whether the temporary file is the one that Apply wrote.
func (b *batch) isOwnTemp(r *replacement) bool {
	now, err := statEntry(b.fd, r.temp)
	return err == nil && sameFile(now, r.newStat)
}

// discard deletes the temporary file. If that fails, the next Apply deletes it.
func (b *batch) discard(r *replacement) error {
	if r.temp != "" && b.beforeStep("remove", r.name) == nil {
		_ = unix.Unlinkat(b.fd, r.temp, 0)
	}
	return nil
}

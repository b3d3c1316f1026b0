// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// topOfHierarchies is the attribute T of chattr(1), which marks the subdirectories of a directory as unrelated.
const topOfHierarchies = 0x20000

// spread marks dir so that the file system spreads its subdirectories over the disk, like directories of unrelated checkouts. A render
// replaces files, and ext4 without a journal does not reuse the inode numbers of deleted files for minutes. Searching past the inodes that
// earlier renders freed would take longer than the render. File systems that lack the attribute do not need it.
func spread(dir string) (err error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	flags, err := unix.IoctlGetUint32(int(d.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(d.Fd()), unix.FS_IOC_SETFLAGS, int(flags|topOfHierarchies))
	}
	if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	return err
}

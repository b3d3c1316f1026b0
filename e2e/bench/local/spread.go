// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// topOfHierarchies is the attribute T of chattr: directories below have nothing to do with each other.
const topOfHierarchies = 0x20000

// spread has the file system keep the files of directories in dir apart, as those of other checkouts are. A render replaces files, and
// ext4 without a journal does not give the numbers of deleted files to new ones for minutes: searching past those of other renders
// would take longer than the render. Other file systems have no such attribute, and need none.
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

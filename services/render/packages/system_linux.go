// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import "golang.org/x/sys/unix"

const (
	// renameExchange swaps two files atomically.
	renameExchange = unix.RENAME_EXCHANGE
	// renameNoReplace makes rename fail if the target exists.
	renameNoReplace = unix.RENAME_NOREPLACE
)

func renameIn(dir int, from, to string, how uint) error {
	return unix.Renameat2(dir, from, dir, to, how)
}

// openBelow opens a file below a directory for reading. Like os.Root, it follows no link out of the directory. If the kernel
// lacks openat2, or openat2 fails, callers fall back to os.Root.
func openBelow(dir int, p string) (fd int, err error) {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	err = retryEINTR(func() (err error) {
		fd, err = unix.Openat2(dir, p, &how)
		return err
	})
	return fd, err
}

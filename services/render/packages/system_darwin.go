// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"errors"

	"golang.org/x/sys/unix"
)

const (
	// renameExchange swaps two files atomically.
	renameExchange = unix.RENAME_SWAP
	// renameNoReplace makes rename fail if the target exists.
	renameNoReplace = unix.RENAME_EXCL
)

func renameIn(dir int, from, to string, how uint) error {
	return unix.RenameatxNp(dir, from, dir, to, uint32(how))
}

// openBelow is implemented only on Linux.
func openBelow(int, string) (fd int, err error) { return 0, errors.ErrUnsupported }

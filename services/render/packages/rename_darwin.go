// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import "golang.org/x/sys/unix"

const (
	// exchanging swaps two files atomically.
	exchanging = unix.RENAME_SWAP
	// overwritingNone makes rename fail if the target exists.
	overwritingNone = unix.RENAME_EXCL
)

func renameIn(dir int, from, to string, how uint) error {
	return unix.RenameatxNp(dir, from, dir, to, uint32(how))
}

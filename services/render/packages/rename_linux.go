// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import "golang.org/x/sys/unix"

const (
	// exchanging swaps two files atomically.
	exchanging = unix.RENAME_EXCHANGE
	// overwritingNone makes rename fail if the target exists.
	overwritingNone = unix.RENAME_NOREPLACE
)

func renameIn(dir int, from, to string, how uint) error {
	return unix.Renameat2(dir, from, dir, to, how)
}

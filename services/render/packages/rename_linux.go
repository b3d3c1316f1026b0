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

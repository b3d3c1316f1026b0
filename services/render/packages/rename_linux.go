// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import "golang.org/x/sys/unix"

const (
	// exchanging lets two files change places.
	exchanging = unix.RENAME_EXCHANGE
	// overwritingNone makes it an error that there is a file of the new name.
	overwritingNone = unix.RENAME_NOREPLACE
)

func renameIn(dir int, from, to string, how uint) error {
	return unix.Renameat2(dir, from, dir, to, how)
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package unpacked

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A process that is being started has all files of its parent open for a moment, and with them their locks.
func TestLockIsGivenBackBesideAStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	held, err := openLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := held.try(unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	inherited, err := unix.Dup(int(held.file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(inherited) }()
	held.close()
	other, err := openLock(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if err := other.try(unix.LOCK_EX); err != nil {
		t.Errorf("the lock is held after its end: %v", err)
	}
}

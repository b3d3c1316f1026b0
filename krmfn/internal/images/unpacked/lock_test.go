// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package unpacked

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A child process has all files of its parent open, with their locks, between fork and exec.
func TestLockIsReleasedDuringAFork(t *testing.T) {
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
		t.Errorf("try() after close() = %v, want nil", err)
	}
}

// Another process may unpack the image while this one converts its lock, and then keep a shared lock for a long time.
func TestImageUnpackedByAnotherProcessIsUsed(t *testing.T) {
	t.Parallel()
	cache, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	dir := filepath.Join(cache.dir, imagesDir, "1")
	other, err := openLock(dir + lockSuffix)
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if err := other.try(unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	ours, err := openLock(dir + lockSuffix)
	if err != nil {
		t.Fatal(err)
	}
	defer ours.close()
	found := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	go func() {
		_, err := cache.shared(ctx, ours, dir, func(string) error { return errors.New("unpacked twice") })
		found <- err
	}()
	time.Sleep(2 * retryInterval)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, imageFile), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-found; err != nil {
		t.Errorf("shared() = %v, want the image", err)
	}
}

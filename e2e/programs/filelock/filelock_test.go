// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package filelock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/krmfn/krmfn/e2e/programs/filelock"
)

func TestTryReportsHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	var held *filelock.HeldError
	if _, err := filelock.Try(path); !errors.As(err, &held) || held.PID != os.Getpid() {
		t.Errorf("Try() of a held lock = %v, want a HeldError with process %d", err, os.Getpid())
	}
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	second, err := filelock.Try(path)
	if err != nil {
		t.Fatalf("Try() of a released lock = %v, want nil", err)
	}
	if err := second.Unlock(); err != nil {
		t.Error(err)
	}
}

func TestWaitAcquiresReleasedLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	second, err := filelock.Wait(t.Context(), path, func(*filelock.HeldError) {
		told++
		if err := first.Unlock(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if told != 1 {
		t.Errorf("Wait() called waiting %d times, want once", told)
	}
	if err := second.Unlock(); err != nil {
		t.Error(err)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Unlock() //nolint:errcheck // the test is over
	ctx, cancel := context.WithCancel(t.Context())
	_, err = filelock.Wait(ctx, path, func(*filelock.HeldError) { cancel() })
	var held *filelock.HeldError
	if !errors.Is(err, context.Canceled) || !errors.As(err, &held) {
		t.Errorf("Wait() = %v, want the context's error and a HeldError", err)
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package filelock lets one process at a time do something on a machine, and says which one does. A lock ends with its process,
// however that ends.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// HeldError says that another process holds a lock.
type HeldError struct {
	Path string
	// PID is that process; 0 while it has not said so.
	PID int
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("process %d holds %s: wait for it, or end it", e.PID, e.Path)
}

// Try takes the lock of a file, which is made if it is missing and says which process holds it. The error is a *HeldError
// if another one does.
func Try(path string) (*flock.Flock, error) {
	lock := flock.New(path)
	locked, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if locked {
		return lock, claim(lock)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return nil, &HeldError{Path: path, PID: pid}
}

// Wait takes the lock of a file as soon as it is free or ctx ends. It calls waiting once if another process holds it.
func Wait(ctx context.Context, path string, waiting func(*HeldError)) (*flock.Flock, error) {
	lock, err := Try(path)
	held, isHeld := errors.AsType[*HeldError](err)
	if !isHeld {
		return lock, err
	}
	waiting(held)
	lock = flock.New(path)
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return nil, fmt.Errorf("%w: %w", err, held)
	}
	return lock, claim(lock)
}

// claim writes which process holds a lock.
func claim(lock *flock.Flock) error {
	err := os.WriteFile(lock.Path(), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600)
	if err != nil {
		return errors.Join(fmt.Errorf("lock: %w", err), lock.Unlock())
	}
	return nil
}

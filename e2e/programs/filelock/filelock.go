// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package filelock provides locks between the processes on a machine. A lock file contains the PID of the holder. The kernel releases a
// lock when its process exits.
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

// HeldError reports that another process holds a lock.
type HeldError struct {
	Path string
	// PID is the process that holds the lock; 0 if it has not yet written its PID.
	PID int
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("process %d holds %s: wait for it, or end it", e.PID, e.Path)
}

// Try acquires the lock of a file, creates the file if necessary, and writes the PID of this process to it. It returns a *HeldError if
// another process holds the lock.
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

// Wait waits for the lock of a file until ctx ends. It calls waiting once if another process holds the lock.
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

// claim writes the PID of this process to the lock file.
func claim(lock *flock.Flock) error {
	err := os.WriteFile(lock.Path(), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600)
	if err != nil {
		return errors.Join(fmt.Errorf("lock: %w", err), lock.Unlock())
	}
	return nil
}

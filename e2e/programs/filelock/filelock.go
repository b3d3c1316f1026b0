// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package filelock lets one process at a time do something on a machine. A lock ends with its process, however that ends.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// retry is how often a lock that another process holds is tried.
const retry = 200 * time.Millisecond

// Lock is a lock that this process holds.
type Lock struct{ file *os.File }

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
func Try(path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer file.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("lock: %w", err)
		}
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		return nil, &HeldError{Path: path, PID: pid}
	}
	if err := errors.Join(file.Truncate(0), write(file)); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return &Lock{file: file}, nil
}

func write(file *os.File) error {
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// Wait takes the lock of a file as soon as it is free or ctx ends. It calls waiting once if another process holds it.
func Wait(ctx context.Context, path string, waiting func(*HeldError)) (*Lock, error) {
	tick := time.NewTicker(retry)
	defer tick.Stop()
	for said := false; ; said = true {
		lock, err := Try(path)
		var held *HeldError
		if !errors.As(err, &held) {
			return lock, err
		}
		if !said {
			waiting(held)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ctx.Err(), held)
		case <-tick.C:
		}
	}
}

// Unlock gives the lock back.
func (l *Lock) Unlock() error { return l.file.Close() }

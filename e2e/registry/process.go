// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/krmfn/krmfn/e2e/programs/filelock"
	"github.com/krmfn/krmfn/e2e/programs/server"
)

// startup is how long a registry may take to answer, and to end.
const startup = 10 * time.Second

// Process is a registry in a process of its own, which outlives the one that starts it.
type Process struct {
	// Address is where it listens, as IP:PORT.
	Address string
	// Dir is where it keeps blobs and its log.
	Dir string
	// Command is a command line that calls Serve with the address and the directory.
	Command []string
}

// Ensure starts the registry if it does not run. It tells whether it did: a new registry is empty.
func (p Process) Ensure(ctx context.Context) (started bool, err error) {
	held, err := p.holder()
	if err != nil {
		return false, err
	}
	if held != nil && Reachable(ctx, p.Address) == nil {
		return false, nil
	}
	// One that listens elsewhere is of no use.
	if err := p.Stop(ctx); err != nil {
		return false, err
	}
	server := server.Detached{
		Command: p.Command, Log: filepath.Join(p.Dir, "log"), Startup: startup,
		Answers: func(ctx context.Context) error { return Reachable(ctx, p.Address) },
	}
	return true, server.Start(ctx)
}

// Stop ends the registry, if it runs, and returns once it has ended.
func (p Process) Stop(ctx context.Context) error {
	held, err := p.holder()
	if held == nil || err != nil {
		return err
	}
	// The lock says that this is the registry, and not another process that has got its number.
	if err := syscall.Kill(held.PID, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the registry, process %d: %w", held.PID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startup)
	defer cancel()
	lock, err := filelock.Wait(ctx, lockFile(p.Dir), func(*filelock.HeldError) {})
	if err != nil {
		return fmt.Errorf("stop the registry: %w", err)
	}
	return lock.Unlock()
}

// holder tells which process runs the registry; nil if none does.
func (p Process) holder() (*filelock.HeldError, error) {
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := filelock.Try(lockFile(p.Dir))
	if held, ok := errors.AsType[*filelock.HeldError](err); ok {
		// It has no number for the moment between taking the lock and writing it.
		if held.PID == 0 {
			return nil, err
		}
		return held, nil
	}
	if err != nil {
		return nil, err
	}
	return nil, lock.Unlock()
}

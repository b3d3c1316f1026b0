// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/krmfn/krmfn/e2e/programs/filelock"
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
	path := filepath.Join(p.Dir, "log")
	log, err := os.Create(path)
	if err != nil {
		return false, err
	}
	defer log.Close() //nolint:errcheck // the process has its own
	server := exec.Command(p.Command[0], p.Command[1:]...)
	server.Stdout, server.Stderr = log, log
	// In a session of its own, it does not get what the terminal sends.
	server.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := server.Start(); err != nil {
		return false, fmt.Errorf("start the registry: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }() // It ends with the registry, or this process.
	return true, p.await(ctx, ended)
}

// await returns when the registry answers.
func (p Process) await(ctx context.Context, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, startup)
	defer cancel()
	for {
		err := Reachable(ctx, p.Address)
		if err == nil {
			return nil
		}
		select {
		case err := <-ended:
			text, _ := os.ReadFile(filepath.Join(p.Dir, "log"))
			return fmt.Errorf("the registry did not start at %s: %w: %s", p.Address, err, text)
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
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

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package unpacked

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lock is a file that processes lock. Those that use an image share its lock; who unpacks or removes it has it alone. The system
// gives it back when a process ends, however it does.
type lock struct{ file *os.File }

// errLocked says that another has the lock.
var errLocked = errors.New("another process uses it")

// retry is how long a process waits before it looks whether another has given a lock back.
const retry = 50 * time.Millisecond

func openLock(path string) (lock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	return lock{file}, err
}

// try takes the lock, or changes how it is held, unless that means to wait. The error is errLocked then.
func (l lock) try(how int) error {
	for {
		err := unix.Flock(int(l.file.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return errLocked
		}
		return err
	}
}

// take takes the lock, and waits for it until ctx ends.
func (l lock) take(ctx context.Context, how int) error {
	for {
		if err := l.try(how); !errors.Is(err, errLocked) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(retry):
		}
	}
}

// yield gives the lock back and waits until another process can have taken it, or ctx ends.
func (l lock) yield(ctx context.Context) error {
	if err := l.try(unix.LOCK_UN); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(retry + rand.N(retry)): //nolint:gosec // G404: not a secret
		return nil
	}
}

// close gives the lock back. Closing the file alone leaves it to a process that is being started, which has the file open, too, until
// it executes its program.
func (l lock) close() {
	_ = unix.Flock(int(l.file.Fd()), unix.LOCK_UN)
	_ = l.file.Close()
}

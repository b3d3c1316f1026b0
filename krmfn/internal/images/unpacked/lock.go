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

// lock is a file that processes lock with flock. Processes that use an image share its lock. A process that unpacks or removes the
// image has the exclusive lock. The kernel releases a lock when its process exits.
type lock struct{ file *os.File }

// errLocked reports that another process has the lock.
var errLocked = errors.New("another process uses it")

// retryInterval is the interval between two attempts to get a lock.
const retryInterval = 50 * time.Millisecond

func openLock(path string) (lock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	return lock{file}, err
}

// try takes the lock, or converts it, without blocking. It returns errLocked if another process has the lock.
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
		case <-time.After(retryInterval):
		}
	}
}

// yield releases the lock and waits long enough for another process to take it, or until ctx ends.
func (l lock) yield(ctx context.Context) error {
	if err := l.try(unix.LOCK_UN); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(retryInterval + rand.N(retryInterval)): //nolint:gosec // G404: not a secret
		return nil
	}
}

// close releases the lock. Closing the file does not suffice: a child process has the file open, too, between fork and exec.
func (l lock) close() {
	_ = unix.Flock(int(l.file.Fd()), unix.LOCK_UN)
	_ = l.file.Close()
}

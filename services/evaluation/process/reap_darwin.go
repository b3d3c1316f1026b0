// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

// Reap is for containers, which are Linux: elsewhere it returns an error at once. A process that leaves its group outlives the call
// that it came from.
func (r *Runner) Reap(context.Context) error {
	return errors.New("orphaned processes are collected on Linux alone")
}

// limitData does nothing: limits can be set for other processes on Linux alone.
func limitData(int, int64) {}

// waitUnreaped blocks until the process has ended and leaves it a zombie, so that its number stays taken. Where the kernel does not
// tell, it returns at once.
func waitUnreaped(pid int) {
	queue, err := unix.Kqueue()
	if err != nil {
		return
	}
	defer unix.Close(queue)
	ends := []unix.Kevent_t{{Ident: uint64(pid), Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD | unix.EV_ONESHOT, Fflags: unix.NOTE_EXIT}}
	for {
		// Of a process that has ended already there is no such event, but an error.
		if _, err := unix.Kevent(queue, ends, make([]unix.Kevent_t, 1), nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

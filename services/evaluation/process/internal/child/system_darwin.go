// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Reap is for containers, which are Linux: elsewhere it returns an error at once. A process that leaves its group outlives the call
// that it came from.
func (s *Starter) Reap(context.Context) error {
	return errors.New("orphaned processes are collected on Linux alone")
}

// pipes makes the three pipes and returns the process's ends: standard input, output and error.
func (p *Child) pipes() (theirs [3]*os.File, err error) {
	ends := make([]*os.File, 0, 6)
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ends...)
			return theirs, err
		}
		ends = append(ends, r, w)
	}
	p.Stdin, p.Stdout, p.Stderr = ends[1], ends[2], ends[4]
	return [3]*os.File{ends[0], ends[3], ends[5]}, nil
}

// readEnd returns nil: the system has no way to open another read end.
func readEnd(*os.File) *os.File { return nil }

// fionread asks how many bytes a pipe holds.
const fionread = 0x4004667f

// grow does nothing: the system sees to it.
func grow(*os.File, int) {}

// limitData does nothing: limits can be set for other processes on Linux alone.
func limitData(int, int64) {}

// exit waits for the end of a process and leaves it a zombie, so that its number stays taken.
type exit struct{ pid int }

func newExit(pid int) exit { return exit{pid: pid} }

// wait blocks until the process has ended. Where the kernel does not tell, it returns at once.
func (e exit) wait() { _ = ended(e.pid, nil) }

// exited tells whether an unreaped child has ended.
func exited(pid int) bool { return ended(pid, &unix.Timespec{}) }

// ended waits, within a time unless that is nil, until a process has ended, and tells whether it has.
func ended(pid int, within *unix.Timespec) bool {
	queue, err := unix.Kqueue()
	if err != nil {
		return false
	}
	defer unix.Close(queue)
	ends := []unix.Kevent_t{{Ident: uint64(pid), Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD | unix.EV_ONESHOT, Fflags: unix.NOTE_EXIT}}
	for {
		// Of a process that has ended already there is no such event, but an error.
		n, err := unix.Kevent(queue, ends, make([]unix.Kevent_t, 1), within)
		if !errors.Is(err, unix.EINTR) {
			return n > 0 || err != nil
		}
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Reap returns an error at once: it is supported on Linux only. On other systems, a process that leaves its group outlives its call.
func (s *Starter) Reap(context.Context) error {
	return errors.New("collecting orphaned processes is supported on Linux only")
}

// pipes creates the three pipes and returns the child's ends: standard input, output and error.
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

// readEnd returns nil because the system cannot reopen a pipe.
func readEnd(*os.File) *os.File { return nil }

// fionread is the ioctl that returns the number of bytes in a pipe.
const fionread = 0x4004667f

// grow does nothing because the system adjusts the capacity of pipes itself.
func grow(*os.File, int) {}

// limitData does nothing because only Linux can set limits of other processes.
func limitData(int, int64) {}

// exit waits until a process has exited and leaves it as a zombie, so that its process ID is not reused.
type exit struct{ pid int }

func newExit(pid int) exit { return exit{pid: pid} }

// wait blocks until the process has exited. It returns at once if the kernel cannot report that.
func (e exit) wait() { _ = ended(e.pid, nil) }

// exited reports whether an unreaped child has exited.
func exited(pid int) bool { return ended(pid, &unix.Timespec{}) }

// ended waits until a process has exited and reports whether it has. within limits the wait; nil means no limit.
func ended(pid int, within *unix.Timespec) bool {
	queue, err := unix.Kqueue()
	if err != nil {
		return false
	}
	defer unix.Close(queue)
	ends := []unix.Kevent_t{{Ident: uint64(pid), Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD | unix.EV_ONESHOT, Fflags: unix.NOTE_EXIT}}
	for {
		// For a process that has exited already, Kevent returns an error instead of an event.
		n, err := unix.Kevent(queue, ends, make([]unix.Kevent_t, 1), within)
		if !errors.Is(err, unix.EINTR) {
			return n > 0 || err != nil
		}
	}
}

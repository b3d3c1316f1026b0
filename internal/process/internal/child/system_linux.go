// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// pipes creates the three pipes and returns the child's ends: standard input, output and error. Only the parent's ends are
// non-blocking.
func (p *Child) pipes() (theirs [3]*os.File, err error) {
	var fds [3][2]int
	for i := range fds {
		if err := unix.Pipe2(fds[i][:], unix.O_CLOEXEC); err != nil {
			for _, made := range fds[:i] {
				_, _ = unix.Close(made[0]), unix.Close(made[1])
			}
			return theirs, os.NewSyscallError("pipe2", err)
		}
	}
	p.Stdin, theirs[0] = polled(fds[0][1], "stdin"), os.NewFile(uintptr(fds[0][0]), "stdin")
	p.Stdout, theirs[1] = polled(fds[1][0], "stdout"), os.NewFile(uintptr(fds[1][1]), "stdout")
	p.Stderr, theirs[2] = polled(fds[2][0], "stderr"), os.NewFile(uintptr(fds[2][1]), "stderr")
	return theirs, nil
}

// readEnd opens another read end of the pipe whose write end is w. It returns nil if that fails, for example without /proc.
func readEnd(w *os.File) (r *os.File) {
	withFD(w, func(fd uintptr) {
		if opened, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
			r = os.NewFile(uintptr(opened), "stdin")
		}
	})
	return r
}

func polled(fd int, name string) *os.File {
	_ = unix.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), name)
}

// fionread is the ioctl that returns the number of bytes in a pipe.
const fionread = unix.TIOCINQ

// grow sets the capacity of a pipe, in bytes. If that exceeds the user's limit, the capacity remains unchanged.
func grow(pipe *os.File, size int) {
	withFD(pipe, func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size) })
}

// limitData sets RLIMIT_DATA of a process that was just started, and of its descendants. It fails only if a process has exited, or has
// a lower limit.
//
// It looks only for children of the main thread, because a process this young has no others. Each lookup in /proc has a cost when the
// process exits, because the kernel then drops cached entries. That cost exceeds the rest of a call's overhead.
func limitData(pid int, limit int64) {
	bytes := uint64(limit) //nolint:gosec // more than 0
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes}, nil)
	for _, child := range readPIDs(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)) {
		limitData(child, limit)
	}
}

// exit waits until a process has exited and leaves it as a zombie, so that its process ID is not reused.
type exit struct {
	pid int
	// pidfd is registered with the runtime's poller. It is nil if the kernel does not support pidfds; wait then blocks a thread.
	pidfd *os.File
}

func newExit(pid int) exit {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return exit{pid: pid}
	}
	return exit{pid: pid, pidfd: os.NewFile(uintptr(fd), "pidfd")}
}

// wait blocks until the process has exited.
func (e exit) wait() {
	if e.pidfd != nil {
		defer e.pidfd.Close()
		if conn, err := e.pidfd.SyscallConn(); err == nil && conn.Read(func(uintptr) bool { return exited(e.pid) }) == nil {
			return
		}
	}
	for errors.Is(unix.Waitid(unix.P_PID, e.pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

// exited reports whether an unreaped child has exited.
func exited(pid int) bool {
	// If the process still runs, Waitid leaves Signo at 0.
	var info unix.Siginfo
	for errors.Is(unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil), unix.EINTR) {
	}
	return info.Signo != 0
}

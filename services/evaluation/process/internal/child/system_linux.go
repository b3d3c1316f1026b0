// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// pipes makes the three pipes and returns the process's ends: standard input, output and error. Only ours are for the poller.
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

// readEnd opens another read end of the pipe that a write end belongs to; nil where there is no /proc.
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

// fionread asks how many bytes a pipe holds.
const fionread = unix.TIOCINQ

// grow makes a pipe hold so many bytes. What a user may have is limited, and where it is not enough the default stays.
func grow(pipe *os.File, size int) {
	withFD(pipe, func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size) })
}

// limitData bounds the private memory of a process that has just been started, of those that it has started since, and of those
// that they will start. It fails only for processes that have ended, or are bound to less.
//
// Of a process so young only the first thread has started others. No more is looked up than that: the system has to forget what was
// looked up in /proc when the process ends, which costs more than all else that is done for it.
func limitData(pid int, limit int64) {
	bytes := uint64(limit) //nolint:gosec // more than 0
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes}, nil)
	for _, child := range numbers(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)) {
		limitData(child, limit)
	}
}

// exit waits for the end of a process and leaves it a zombie, so that its number stays taken.
type exit struct {
	pid int
	// pidfd is for the poller; nil where the kernel has none, and then a thread waits.
	pidfd *os.File
}

func newExit(pid int) exit {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return exit{pid: pid}
	}
	return exit{pid: pid, pidfd: os.NewFile(uintptr(fd), "pidfd")}
}

// wait blocks until the process has ended.
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

// exited tells whether an unreaped child has ended.
func exited(pid int) bool {
	// Of one that runs the number stays 0: that of a signal that does not come.
	var info unix.Siginfo
	for errors.Is(unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil), unix.EINTR) {
	}
	return info.Signo != 0
}

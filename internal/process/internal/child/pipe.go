// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// withFD calls f with the file's descriptor, unless the file is closed. The file cannot be closed while f runs.
func withFD(file *os.File, f func(fd uintptr)) {
	if conn, err := file.SyscallConn(); err == nil {
		_ = conn.Control(f)
	}
}

const (
	// defaultPipe is the default capacity of a pipe in bytes.
	defaultPipe = 64 << 10
	// largePipe is the default maximum capacity, in bytes, that unprivileged users can set.
	largePipe = 1 << 20
)

// Enlarge increases the capacity of the standard input and output pipes if size, in bytes, exceeds the default. If the system refuses,
// the capacity remains unchanged.
func (p *Child) Enlarge(size int) {
	if size > defaultPipe {
		grow(p.Stdin, largePipe)
		grow(p.Stdout, largePipe)
	}
}

// Unread returns the number of bytes in a pipe, given either end.
func Unread(pipe *os.File) (n int) {
	withFD(pipe, func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), fionread) })
	return n
}

// writeNow writes as much as fits into a pipe and returns the rest.
func writeNow(w *os.File, input []byte) (left []byte, err error) {
	conn, err := w.SyscallConn()
	if err != nil {
		return input, err
	}
	closed := conn.Write(func(fd uintptr) bool {
		for len(input) > 0 {
			n, failed := unix.Write(int(fd), input)
			switch {
			case failed == nil:
				input = input[n:]
			case errors.Is(failed, unix.EINTR):
			case errors.Is(failed, unix.EAGAIN):
				return true
			default:
				err = failed
				return true
			}
		}
		return true
	})
	return input, errors.Join(closed, err)
}

// Sink receives what is read from a pipe.
type Sink interface {
	// Space returns the buffer for the next bytes. It is never empty.
	Space() []byte
	// Advance reports that n bytes were written to the buffer.
	Advance(n int)
}

// Drain reads a pipe to its end. After its read deadline, it still reads what the pipe contains at that moment: output must not be lost
// because the reader did not run before the deadline.
func Drain(r *os.File, to Sink) {
	for {
		n, err := r.Read(to.Space())
		to.Advance(n)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			drainNow(r, to)
			return
		}
		if err != nil {
			return
		}
	}
}

// maxInPipe exceeds the number of bytes in a pipe. A descendant that writes continuously must not keep drainNow busy.
const maxInPipe = 1 << 20

// drainNow reads the current contents of a pipe without waiting for more.
func drainNow(r *os.File, to Sink) {
	if r.SetReadDeadline(time.Time{}) != nil {
		return
	}
	conn, err := r.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Read(func(fd uintptr) bool {
		for read := 0; read < maxInPipe; {
			n, err := unix.Read(int(fd), to.Space())
			if n <= 0 && !errors.Is(err, unix.EINTR) {
				break
			}
			to.Advance(max(n, 0))
			read += max(n, 0)
		}
		return true
	})
}

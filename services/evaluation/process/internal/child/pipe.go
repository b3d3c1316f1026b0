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

// withFD calls f with the number of a file that is not closed yet.
func withFD(file *os.File, f func(fd uintptr)) {
	if conn, err := file.SyscallConn(); err == nil {
		_ = conn.Control(f)
	}
}

const (
	// defaultPipe is what a pipe holds by itself.
	defaultPipe = 64 << 10
	// largePipe is the most that users may ask for, by default.
	largePipe = 1 << 20
)

// Enlarge prepares the pipes of standard input and output for so many bytes, as far as the system allows.
func (p *Child) Enlarge(size int) {
	if size > defaultPipe {
		grow(p.Stdin, largePipe)
		grow(p.Stdout, largePipe)
	}
}

// Unread returns how many bytes a pipe holds, at whichever end.
func Unread(pipe *os.File) (n int) {
	withFD(pipe, func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), fionread) })
	return n
}

// writeNow writes what fits into a pipe and returns the rest.
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

// Sink takes in what is read from a pipe.
type Sink interface {
	// Space returns where the next bytes go; it is never empty.
	Space() []byte
	// Took says how many bytes were put there.
	Took(n int)
}

// Drain reads a pipe to its end, or to its read deadline and then whatever is in it at that moment: a deadline that
// passes while the reader had no processor must not cost output.
func Drain(r *os.File, to Sink) {
	for {
		n, err := r.Read(to.Space())
		to.Took(n)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			drainNow(r, to)
			return
		}
		if err != nil {
			return
		}
	}
}

// mostInPipe is more than a pipe holds; what comes after so much is being written now.
const mostInPipe = 1 << 20

// drainNow reads what a pipe holds, without waiting for more.
func drainNow(r *os.File, to Sink) {
	if r.SetReadDeadline(time.Time{}) != nil {
		return
	}
	conn, err := r.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Read(func(fd uintptr) bool {
		for read := 0; read < mostInPipe; {
			n, err := unix.Read(int(fd), to.Space())
			if n <= 0 && !errors.Is(err, unix.EINTR) {
				break
			}
			to.Took(max(n, 0))
			read += max(n, 0)
		}
		return true
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pipes makes the three pipes. The child's ends go to the command, ours stay in p.
func (p *started) pipes() error {
	ends := make([]*os.File, 0, 6)
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ends...)
			return err
		}
		ends = append(ends, r, w)
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = ends[0], ends[3], ends[5]
	p.theirs = []*os.File{ends[0], ends[3], ends[5]}
	p.stdin, p.stdout, p.stderr = ends[1], ends[2], ends[4]
	return nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// feed writes the input and closes the pipe. A function that does not read all of its input is no error.
func feed(w *os.File, input []byte) {
	_, _ = w.Write(input)
	_ = w.Close()
}

// sink takes in what is read from a pipe.
type sink interface {
	// space returns where the next bytes go; it is never empty.
	space() []byte
	// took says how many bytes were put there.
	took(n int)
}

// drain reads a pipe to its end, or to its read deadline and then whatever is in it at that moment: a deadline that
// passes while the reader had no processor must not cost output.
func drain(r *os.File, to sink) {
	for {
		n, err := r.Read(to.space())
		to.took(n)
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
func drainNow(r *os.File, to sink) {
	if r.SetReadDeadline(time.Time{}) != nil {
		return
	}
	conn, err := r.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Read(func(fd uintptr) bool {
		for read := 0; read < mostInPipe; {
			n, err := unix.Read(int(fd), to.space())
			if n <= 0 && !errors.Is(err, unix.EINTR) {
				break
			}
			to.took(max(n, 0))
			read += max(n, 0)
		}
		return true
	})
}

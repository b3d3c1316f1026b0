// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"io"
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

// drain reads a pipe to its end, or to its read deadline and then whatever is in it at that moment: a deadline that
// passes while the reader had no processor must not cost output.
func drain(r *os.File, size int, to io.Writer) {
	buf := make([]byte, size)
	for {
		n, err := r.Read(buf)
		_, _ = to.Write(buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			drainNow(r, buf, to)
			return
		}
		if err != nil {
			return
		}
	}
}

// drainNow reads what a pipe holds, without waiting for more.
func drainNow(r *os.File, buf []byte, to io.Writer) {
	if r.SetReadDeadline(time.Time{}) != nil {
		return
	}
	conn, err := r.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Read(func(fd uintptr) bool {
		// Bounded, because the holder of the other end may write for ever.
		for range 1 + (1<<20)/len(buf) {
			n, err := unix.Read(int(fd), buf)
			if n <= 0 && !errors.Is(err, unix.EINTR) {
				break
			}
			_, _ = to.Write(buf[:max(n, 0)])
		}
		return true
	})
}

// floodFactor is how many times the limit an output may be before its process is killed. Up to there it is only counted,
// so that the error can tell how large the output is.
const floodFactor = 16

// head keeps what is written to it up to a limit. Beyond that it keeps nothing and counts, and at floodFactor times the
// limit it calls onFlood.
type head struct {
	limit   int64
	onFlood func()
	buf     []byte
	size    int64
}

func (h *head) full() bool { return h.size > h.limit }

func (h *head) Write(b []byte) (int, error) {
	h.size += int64(len(b))
	switch {
	case h.size > floodFactor*h.limit:
		h.onFlood()
	case h.full():
		h.buf = nil
	default:
		h.buf = append(h.buf, b...)
	}
	return len(b), nil
}

// tail keeps the end of what is written to it.
type tail struct {
	limit   int
	buf     []byte
	dropped int64
}

func (t *tail) Write(b []byte) (int, error) {
	t.buf = append(t.buf, b...)
	// Trimming only at twice the limit moves each byte once at most.
	if len(t.buf) > 2*t.limit {
		t.trim()
	}
	return len(b), nil
}

func (t *tail) bytes() []byte {
	t.trim()
	return t.buf
}

func (t *tail) trim() {
	if over := len(t.buf) - t.limit; over > 0 {
		t.dropped += int64(over)
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
}

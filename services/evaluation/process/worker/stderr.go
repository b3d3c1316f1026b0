// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/krmfn/krmfn/services/evaluation/process/internal/child"
)

// stderr is what a worker writes to standard error. All that it has written before it answers is of the call.
type stderr struct {
	file  *os.File
	limit int

	mu     sync.Mutex
	tail   child.Tail
	buffer [4 << 10]byte
}

// follow reads until the pipe ends, or its read deadline passes: a worker that nobody reads would stand still.
func (s *stderr) follow() {
	if conn, err := s.file.SyscallConn(); err == nil {
		_ = conn.Read(s.read)
	}
}

// take returns the end of what has been written since the last time, and how many bytes were before that.
func (s *stderr) take() (end []byte, dropped int64) {
	if conn, err := s.file.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { s.read(fd) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tail.Limit = s.limit
	end, dropped = s.tail.Output()
	s.tail = child.Tail{Limit: s.limit}
	return end, dropped
}

// read reads what the pipe holds, and tells whether it has ended.
func (s *stderr) read(fd uintptr) (ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tail.Limit = s.limit
	for {
		n, err := unix.Read(int(fd), s.buffer[:])
		if n > 0 {
			copy(s.tail.Space(), s.buffer[:n])
			s.tail.Took(n)
			continue
		}
		if !errors.Is(err, unix.EINTR) {
			return !errors.Is(err, unix.EAGAIN)
		}
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/krmfn/krmfn/internal/process/internal/child"
)

// stderr collects a worker's standard error. What the worker writes before its answer belongs to the call.
type stderr struct {
	file  *os.File
	limit int

	mu     sync.Mutex
	tail   child.Tail
	buffer [4 << 10]byte
}

// follow reads until the pipe closes, or its read deadline passes. Without a reader, the worker would block when the pipe is full.
func (s *stderr) follow() {
	if conn, err := s.file.SyscallConn(); err == nil {
		_ = conn.Read(s.read)
	}
}

// take returns the last part of what was written since the previous take, and the number of bytes before that part.
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

// read reads the contents of the pipe without blocking. It reports whether the pipe has closed.
func (s *stderr) read(fd uintptr) (ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tail.Limit = s.limit
	for {
		n, err := unix.Read(int(fd), s.buffer[:])
		if n > 0 {
			copy(s.tail.Space(), s.buffer[:n])
			s.tail.Advance(n)
			continue
		}
		if !errors.Is(err, unix.EINTR) {
			return !errors.Is(err, unix.EAGAIN)
		}
	}
}

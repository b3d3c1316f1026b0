// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"io"
	"sync"
	"time"
)

const (
	// maxPending is the size in bytes of the buffer above which Write blocks.
	maxPending = 1 << 20
	// maxReusedBuffer is the maximum size in bytes of a buffer that is reused.
	maxReusedBuffer = 64 << 10
	// writeInterval is the minimum interval between two writes. Each write to the pipe of a container's log wakes two processes that collect
	// the log. Under load, that takes more CPU time than the rest of a call in a function runner.
	writeInterval = 50 * time.Millisecond
)

// Writer is a buffered, asynchronous writer for a log, so that a call does not wait for its log line to be written. It writes a line at
// once if the previous write was at least 50 milliseconds ago. Otherwise it collects lines until then. Safe for concurrent use.
type Writer struct {
	to io.Writer
	// filled signals that pending is not empty. closing is closed by Close.
	filled, closing chan struct{}
	writing         sync.WaitGroup

	// mu guards the following fields. It is not held during writes, except for writes after Close.
	mu      sync.Mutex
	pending []byte
	// emptied signals that pending has been emptied.
	emptied sync.Cond
	closed  bool
}

// NewWriter returns a writer to w. The caller must close it.
func NewWriter(w io.Writer) *Writer {
	l := &Writer{to: w, filled: make(chan struct{}, 1), closing: make(chan struct{})}
	l.emptied.L = &l.mu
	l.writing.Go(l.run)
	return l
}

// Write adds lines to the buffer. It blocks while the buffer is full. Errors of the underlying writer are ignored, because they cannot be
// logged.
func (l *Writer) Write(lines []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.pending) > maxPending && !l.closed {
		l.emptied.Wait()
	}
	if l.closed {
		return l.to.Write(lines)
	}
	l.pending = append(l.pending, lines...)
	select {
	case l.filled <- struct{}{}:
	default:
	}
	return len(lines), nil
}

// Close writes the buffered lines. Lines that are written after Close are not buffered.
func (l *Writer) Close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.closing)
		l.emptied.Broadcast()
	}
	l.mu.Unlock()
	l.writing.Wait()
}

func (l *Writer) run() {
	var lines []byte
	for open := true; open; {
		select {
		case <-l.filled:
		case <-l.closing:
			open = false
		}
		l.mu.Lock()
		lines, l.pending = l.pending, lines[:0]
		l.emptied.Broadcast()
		l.mu.Unlock()
		_, _ = l.to.Write(lines)
		if cap(lines) > maxReusedBuffer {
			lines = nil
		}
		select {
		case <-time.After(writeInterval):
		case <-l.closing:
		}
	}
}

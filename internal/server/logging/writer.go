// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"io"
	"sync"
	"time"
)

const (
	// maxPending is how many bytes may wait to be written. Who logs more waits, too.
	maxPending = 1 << 20
	// keptSpace is the largest buffer that is kept for further lines.
	keptSpace = 64 << 10
	// pause is how long lines wait after a write. Each write to the pipe of a container's log wakes two processes that collect it, which
	// under load takes more CPU time than all else that a function runner does for a call.
	pause = 50 * time.Millisecond
)

// Writer writes beside those who log, in order: the line about a call must not keep its caller waiting. It writes a line at once, or,
// within 50 milliseconds of the write before, together with all others of that time. It may be used by any number of goroutines at once.
type Writer struct {
	to io.Writer
	// more says that something is pending, and closing that nothing more will be.
	more, closing chan struct{}
	writing       sync.WaitGroup

	// mu guards what follows. Nothing is written while it is held, but what comes after Close.
	mu      sync.Mutex
	pending []byte
	// less is told when there is room again.
	less   sync.Cond
	closed bool
}

// NewWriter returns a writer to w. The caller closes it.
func NewWriter(w io.Writer) *Writer {
	l := &Writer{to: w, more: make(chan struct{}, 1), closing: make(chan struct{})}
	l.less.L = &l.mu
	l.writing.Go(l.run)
	return l
}

// Write takes lines. What comes of writing them is not known: there is nowhere to tell.
func (l *Writer) Write(lines []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.pending) > maxPending && !l.closed {
		l.less.Wait()
	}
	if l.closed {
		return l.to.Write(lines)
	}
	l.pending = append(l.pending, lines...)
	select {
	case l.more <- struct{}{}:
	default:
	}
	return len(lines), nil
}

// Close returns when all lines are written. Later ones are written at once.
func (l *Writer) Close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.closing)
		l.less.Broadcast()
	}
	l.mu.Unlock()
	l.writing.Wait()
}

func (l *Writer) run() {
	var lines []byte
	for open := true; open; {
		select {
		case <-l.more:
		case <-l.closing:
			open = false
		}
		l.mu.Lock()
		lines, l.pending = l.pending, lines[:0]
		l.less.Broadcast()
		l.mu.Unlock()
		_, _ = l.to.Write(lines)
		if cap(lines) > keptSpace {
			lines = nil
		}
		select {
		case <-time.After(pause):
		case <-l.closing:
		}
	}
}

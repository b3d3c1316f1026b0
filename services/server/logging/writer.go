// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"io"
	"sync"
)

const (
	// maxPending is how many bytes may wait to be written. Who logs more waits, too.
	maxPending = 1 << 20
	// keptSpace is the largest buffer that is kept for further lines.
	keptSpace = 64 << 10
)

// Writer writes beside those who log, soon and in order, as many lines at once as there are: the line about a call must not keep its
// caller waiting, and a write to the pipe of a container's log wakes whoever reads that. It may be used by any number of
// goroutines at once.
type Writer struct {
	to io.Writer
	// more says that something is pending; it is closed by Close.
	more    chan struct{}
	writing sync.WaitGroup

	// mu guards what follows. Nothing is written while it is held, but what comes after Close.
	mu      sync.Mutex
	pending []byte
	// less is told when there is room again.
	less   sync.Cond
	closed bool
}

// NewWriter returns a writer to w. The caller closes it.
func NewWriter(w io.Writer) *Writer {
	l := &Writer{to: w, more: make(chan struct{}, 1)}
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
		close(l.more)
		l.less.Broadcast()
	}
	l.mu.Unlock()
	l.writing.Wait()
}

func (l *Writer) run() {
	var lines []byte
	for open := true; open; {
		_, open = <-l.more
		l.mu.Lock()
		lines, l.pending = l.pending, lines[:0]
		l.less.Broadcast()
		l.mu.Unlock()
		_, _ = l.to.Write(lines)
		if cap(lines) > keptSpace {
			lines = nil
		}
	}
}

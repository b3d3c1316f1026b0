// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import "slices"

const (
	// leastSpace is how much is read at once, at least.
	leastSpace = 4 << 10
	// floodFactor is how many times the limit an output may be before its process is killed. Up to there it is only
	// counted, so that the error can tell how large the output is.
	floodFactor = 16
)

// head keeps what is read up to a limit. Beyond that it keeps nothing and counts, and at floodFactor times the limit it
// calls onFlood.
type head struct {
	limit   int64
	onFlood func()
	buf     []byte
	size    int64
}

func (h *head) full() bool { return h.size > h.limit }

func (h *head) space() []byte {
	if h.full() {
		return h.buf[:cap(h.buf)]
	}
	h.buf = slices.Grow(h.buf, leastSpace)
	return h.buf[len(h.buf):cap(h.buf)]
}

func (h *head) took(n int) {
	h.size += int64(n)
	switch {
	case h.size > floodFactor*h.limit:
		h.onFlood()
	case !h.full():
		h.buf = h.buf[:len(h.buf)+n]
	}
}

// output returns what was kept; nil when it was too much.
func (h *head) output() []byte {
	if h.full() {
		return nil
	}
	return h.buf
}

// tail keeps the end of what is read.
type tail struct {
	limit   int
	buf     []byte
	dropped int64
}

func (t *tail) space() []byte {
	// Trimming only at twice the limit moves each byte once at most.
	if len(t.buf) > 2*t.limit {
		t.trim()
	}
	t.buf = slices.Grow(t.buf, leastSpace)
	return t.buf[len(t.buf):cap(t.buf)]
}

func (t *tail) took(n int) { t.buf = t.buf[:len(t.buf)+n] }

func (t *tail) output() []byte {
	t.trim()
	return t.buf
}

func (t *tail) trim() {
	if over := len(t.buf) - t.limit; over > 0 {
		t.dropped += int64(over)
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import "slices"

const (
	// leastSpace is how much is read at once, at least.
	leastSpace = 4 << 10
	// floodFactor is how many times the limit an output may be before its process is killed. Up to there it is only
	// counted, so that the error can tell how large the output is.
	floodFactor = 16
)

// Head keeps what is read up to a limit, in bytes. Beyond that it keeps nothing and counts, and at 16 times the limit it calls
// OnFlood.
type Head struct {
	Limit   int64
	OnFlood func()
	buf     []byte
	size    int64
}

// Guess makes room for so many bytes and some, within the limit.
func (h *Head) Guess(n int) { h.buf = slices.Grow(h.buf, int(min(int64(n), h.Limit))+2*leastSpace) }

// Full tells whether more than the limit has been read.
func (h *Head) Full() bool { return h.size > h.Limit }

// Size returns how many bytes have been read.
func (h *Head) Size() int64 { return h.size }

// Space is a Sink's.
func (h *Head) Space() []byte {
	if h.Full() {
		return h.buf[:cap(h.buf)]
	}
	h.buf = slices.Grow(h.buf, leastSpace)
	return h.buf[len(h.buf):cap(h.buf)]
}

// Took is a Sink's.
func (h *Head) Took(n int) {
	h.size += int64(n)
	switch {
	case h.size > floodFactor*h.Limit:
		h.OnFlood()
	case !h.Full():
		h.buf = h.buf[:len(h.buf)+n]
	}
}

// Output returns what was kept; nil when it was too much.
func (h *Head) Output() []byte {
	if h.Full() {
		return nil
	}
	return h.buf
}

// Tail keeps the end of what is read, so many bytes.
type Tail struct {
	Limit   int
	buf     []byte
	dropped int64
}

// Space is a Sink's.
func (t *Tail) Space() []byte {
	// Trimming only at twice the limit moves each byte once at most.
	if len(t.buf) > 2*t.Limit {
		t.trim()
	}
	t.buf = slices.Grow(t.buf, leastSpace)
	return t.buf[len(t.buf):cap(t.buf)]
}

// Took is a Sink's.
func (t *Tail) Took(n int) { t.buf = t.buf[:len(t.buf)+n] }

// Output returns what was kept, and how many bytes came before.
func (t *Tail) Output() (end []byte, dropped int64) {
	t.trim()
	return t.buf, t.dropped
}

func (t *Tail) trim() {
	if over := len(t.buf) - t.Limit; over > 0 {
		t.dropped += int64(over)
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
}

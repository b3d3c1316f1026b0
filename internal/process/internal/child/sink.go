// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import "slices"

const (
	// minReadSize is the minimum size of the buffer for a read, in bytes.
	minReadSize = 4 << 10
	// floodFactor times the limit is the output size at which the process is killed. Below that, output beyond the limit is only
	// counted, so that the error contains its size.
	floodFactor = 16
)

// Head keeps up to Limit bytes. If there are more, it keeps none of them and only counts. Beyond 16 times the limit it calls OnFlood.
type Head struct {
	Limit   int64
	OnFlood func()
	buf     []byte
	size    int64
}

// Preallocate preallocates the buffer for an expected size of n bytes, up to the limit.
func (h *Head) Preallocate(n int) {
	h.buf = slices.Grow(h.buf, int(min(int64(n), h.Limit))+2*minReadSize)
}

// Full reports whether more than Limit bytes have been read.
func (h *Head) Full() bool { return h.size > h.Limit }

// Size returns the number of bytes that have been read.
func (h *Head) Size() int64 { return h.size }

// Space implements Sink.
func (h *Head) Space() []byte {
	if h.Full() {
		return h.buf[:cap(h.buf)]
	}
	h.buf = slices.Grow(h.buf, minReadSize)
	return h.buf[len(h.buf):cap(h.buf)]
}

// Advance implements Sink.
func (h *Head) Advance(n int) {
	h.size += int64(n)
	switch {
	case h.size > floodFactor*h.Limit:
		h.OnFlood()
	case !h.Full():
		h.buf = h.buf[:len(h.buf)+n]
	}
}

// Output returns the kept bytes, or nil if there were more than Limit.
func (h *Head) Output() []byte {
	if h.Full() {
		return nil
	}
	return h.buf
}

// Tail keeps the last Limit bytes.
type Tail struct {
	Limit   int
	buf     []byte
	dropped int64
}

// Space implements Sink.
func (t *Tail) Space() []byte {
	// Trimming at twice the limit ensures that each byte is moved at most once.
	if len(t.buf) > 2*t.Limit {
		t.trim()
	}
	t.buf = slices.Grow(t.buf, minReadSize)
	return t.buf[len(t.buf):cap(t.buf)]
}

// Advance implements Sink.
func (t *Tail) Advance(n int) { t.buf = t.buf[:len(t.buf)+n] }

// Output returns the kept bytes and the number of bytes before them.
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

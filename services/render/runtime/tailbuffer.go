// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import "sync"

// maxStderr is the maximum size in bytes of a function's standard error that is kept, the same as for a process.
const maxStderr = 64 << 10

// tailBuffer keeps the last maxPrinted bytes written to it. Safe for concurrent use.
type tailBuffer struct {
	mu      sync.Mutex
	text    []byte
	dropped int64
}

// Write never fails.
func (p *tailBuffer) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = append(p.text, text...)
	// Trimming only at twice the limit moves each byte at most once.
	if len(p.text) > 2*maxStderr {
		p.trim()
	}
	return len(text), nil
}

// tail returns a copy of the kept bytes and the number of bytes dropped before them.
func (p *tailBuffer) tail() (text []byte, dropped int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trim()
	return append(text, p.text...), p.dropped
}

func (p *tailBuffer) trim() {
	if over := len(p.text) - maxStderr; over > 0 {
		p.dropped += int64(over)
		p.text = append(p.text[:0], p.text[over:]...)
	}
}

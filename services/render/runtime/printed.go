// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import "sync"

// maxPrinted is the maximum size in bytes of a function's standard error that is kept, the same as for a process.
const maxPrinted = 64 << 10

// printed keeps the last maxPrinted bytes written to it. Safe for concurrent use.
type printed struct {
	mu      sync.Mutex
	text    []byte
	dropped int64
}

// Write never fails.
func (p *printed) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = append(p.text, text...)
	// Trimming only at twice the limit moves each byte at most once.
	if len(p.text) > 2*maxPrinted {
		p.trim()
	}
	return len(text), nil
}

// end returns a copy of the kept bytes and the number of bytes dropped before them.
func (p *printed) end() (text []byte, dropped int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trim()
	return append(text, p.text...), p.dropped
}

func (p *printed) trim() {
	if over := len(p.text) - maxPrinted; over > 0 {
		p.dropped += int64(over)
		p.text = append(p.text[:0], p.text[over:]...)
	}
}

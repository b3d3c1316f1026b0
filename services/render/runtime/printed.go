// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import "sync"

// maxPrinted is how much of a function's standard error is kept, as of one in a process of its own.
const maxPrinted = 64 << 10

// printed keeps the end of what is written to it. A function may write from several goroutines.
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
	// Trimming only at twice the limit moves each byte once at most.
	if len(p.text) > 2*maxPrinted {
		p.trim()
	}
	return len(text), nil
}

// end returns a copy of what was kept, and how many bytes came before.
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

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"runtime/debug"
	"sync"
)

const (
	// pressureThreshold is the amount of live data in bytes above which the garbage collector runs more often.
	pressureThreshold = 64 << 20
	// frugalPercent is the value for GOGC that lets the heap grow to twice the live data.
	frugalPercent = 100
)

// Pressure makes the garbage collector run more often while much of the heap is live, because a heap of five times that size
// would be too large. It changes a setting of the process, so a process should have only one. The zero value is ready to use.
// Safe for concurrent use.
type Pressure struct {
	// mu is held while the setting changes.
	mu   sync.Mutex
	live int64
	// before is the previous setting while frugal is set.
	before int
	frugal bool
}

// Hold records that bytes are live until release is called, which must happen once.
func (p *Pressure) Hold(bytes int64) (release func()) {
	p.add(bytes)
	return func() { p.add(-bytes) }
}

func (p *Pressure) add(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live += bytes
	switch much := p.live > pressureThreshold; {
	case much && !p.frugal:
		p.frugal, p.before = true, debug.SetGCPercent(frugalPercent)
		// Keep a lower user setting, or a disabled collector.
		if p.before < frugalPercent {
			debug.SetGCPercent(p.before)
		}
	case !much && p.frugal:
		p.frugal = false
		debug.SetGCPercent(p.before)
	}
}

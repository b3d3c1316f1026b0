// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"runtime/debug"
	"sync"
)

const (
	// muchHeld is how many bytes must be alive before the garbage collector runs more often.
	muchHeld = 64 << 20
	// frugalPercent lets the heap grow to twice what is alive.
	frugalPercent = 100
)

// Pressure has the garbage collector run more often while much of the heap is alive, when five times that would be a lot. It is
// for the one server of a process. The zero value is ready; it may be used by any number of goroutines at once.
type Pressure struct {
	// mu is held while the collector is set.
	mu   sync.Mutex
	held int64
	// before is what the collector was set to, while frugal.
	before int
	frugal bool
}

// Hold says that so many bytes are alive until release is called, once.
func (p *Pressure) Hold(bytes int64) (release func()) {
	p.add(bytes)
	return func() { p.add(-bytes) }
}

func (p *Pressure) add(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held += bytes
	switch much := p.held > muchHeld; {
	case much && !p.frugal:
		p.frugal, p.before = true, debug.SetGCPercent(frugalPercent)
		// A user who wants less garbage, or no collector, gets that.
		if p.before < frugalPercent {
			debug.SetGCPercent(p.before)
		}
	case !much && p.frugal:
		p.frugal = false
		debug.SetGCPercent(p.before)
	}
}

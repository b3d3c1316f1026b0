// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"sync"
	"syscall"
)

// processGroup kills a process and all its descendants that did not leave its group. The leader's number may belong to
// somebody else as soon as the leader is reaped; retire comes before that, and nothing is killed after it.
type processGroup struct {
	leader  int
	mu      sync.Mutex
	retired bool
}

// kill ends the group at once. It may be called at any time, by any goroutine.
func (g *processGroup) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.retired {
		_ = syscall.Kill(-g.leader, syscall.SIGKILL)
	}
}

// retire kills what is left of the group and makes later kills do nothing. The leader has ended and is not yet reaped.
func (g *processGroup) retire() {
	g.kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.retired = true
}

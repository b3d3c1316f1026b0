// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"slices"
	"sync"
	"time"
)

// remembered is how many durations are.
const remembered = 64

// durations are those of the last calls of a pool. The zero value has none. It may be used concurrently.
type durations struct {
	mu   sync.Mutex
	last [remembered]time.Duration
	// count is how many there ever were.
	count int
}

func (d *durations) add(took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last[d.count%remembered] = took
	d.count++
}

// median returns 0 before the first call.
func (d *durations) median() time.Duration {
	d.mu.Lock()
	sorted := slices.Clone(d.last[:min(d.count, remembered)])
	d.mu.Unlock()
	if len(sorted) == 0 {
		return 0
	}
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

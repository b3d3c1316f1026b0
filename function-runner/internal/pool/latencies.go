// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"slices"
	"sync"
	"time"
)

// remembered is the number of latencies that the pool keeps.
const remembered = 64

// latencies are the durations of a pool's recent successful calls. The zero value is empty. The methods are safe for concurrent use.
type latencies struct {
	mu   sync.Mutex
	last [remembered]time.Duration
	// count is the number of calls so far.
	count int
}

func (l *latencies) add(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last[l.count%remembered] = took
	l.count++
}

// median returns the median, or 0 before the first call.
func (l *latencies) median() time.Duration {
	l.mu.Lock()
	sorted := slices.Clone(l.last[:min(l.count, remembered)])
	l.mu.Unlock()
	if len(sorted) == 0 {
		return 0
	}
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

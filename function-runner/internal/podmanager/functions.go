// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"cmp"
	"slices"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

// Function is the state of all pools of one function.
type Function struct {
	// Reference is the image in the form that calls use, resolved. Digest is the digest for new calls, or empty if the function was not
	// called.
	Reference, Digest string
	// Stats sums the sizes of the function's pools.
	Stats pool.Stats
	// Median is the median duration of recent calls, or 0 before the first call.
	Median time.Duration
}

// Functions returns the functions that have pods, waiting calls or a failure, sorted by reference.
func (m *Manager) Functions() []Function {
	m.mu.RLock()
	defer m.mu.RUnlock()
	found := map[string]*Function{}
	for id, w := range m.workloads {
		stats := w.Stats()
		for _, mem := range w.members {
			stats.LastFailure = cmp.Or(stats.LastFailure, mem.startProblem())
		}
		if len(w.members) == 0 && stats.Waiting == 0 && stats.LastFailure == nil {
			continue
		}
		f := found[id.Image]
		if f == nil {
			f = &Function{Reference: id.Image}
			found[id.Image] = f
		}
		f.Stats = f.Stats.Plus(stats)
		if m.current[id.Image] == w || f.Digest == "" {
			f.Digest, f.Median = id.Digest, cmp.Or(w.Median(), f.Median)
		}
	}
	functions := make([]Function, 0, len(found))
	for _, f := range found {
		functions = append(functions, *f)
	}
	slices.SortFunc(functions, func(a, b Function) int { return cmp.Compare(a.Reference, b.Reference) })
	return functions
}

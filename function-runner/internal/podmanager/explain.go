// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/internal/cluster/podstatus"
)

// Explain describes what the calls in a pool's queue are waiting for.
func (m *Manager) Explain(p *pool.Pool) string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var texts []string
	if w := m.workloads[p.ID]; w != nil {
		for _, ordinal := range slices.Sorted(maps.Keys(w.members)) {
			if mem := w.members[ordinal]; !mem.In(lifecycle.Ready) {
				texts = append(texts, mem.explain())
			}
		}
	}
	if len(texts) == 0 {
		s := p.Stats()
		return fmt.Sprintf("%d calls run in %d pods, %d pods are being created", s.Running, s.Ready, s.Starting)
	}
	return strings.Join(texts, "; ")
}

// startProblem returns why a pod is not ready, or nil if the pod is ready or is not late yet.
func (mem *member) startProblem() error {
	status, _ := mem.Status()
	if mem.createErr == nil && status.State == lifecycle.Starting && !status.Served && time.Since(status.Since) >= slowStart {
		return errors.New(mem.explain())
	}
	return mem.createErr
}

// explain describes a pod's progress and how long it has taken so far.
func (mem *member) explain() string {
	status, _ := mem.Status()
	age := time.Since(status.Since).Round(time.Second)
	switch {
	case mem.createErr != nil:
		return mem.createErr.Error()
	case mem.object == nil:
		return fmt.Sprintf("pod %s is being created for %v", mem.name(), age)
	case status.Reason != nil:
		return fmt.Sprintf("pod %s is %s since %v: %v", mem.name(), status.State, age, status.Reason)
	}
	return fmt.Sprintf("pod %s %s, for %v", mem.name(), podstatus.Progress(mem.object), age)
}

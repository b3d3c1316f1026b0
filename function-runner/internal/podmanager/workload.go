// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/podname"
	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

// workload is a pool with the inputs of its pods and their Kubernetes objects. The manager's lock guards it.
type workload struct {
	*pool.Pool

	m *Manager
	// template and values are the inputs of new pods. They are nil and empty while this replica knows the pool only from its existing
	// pods.
	template *podtemplate.Template
	values   podtemplate.Values
	// platforms are the platforms of the image. They are unknown until this replica has created a pod.
	platforms []string
	// members holds the pods by ordinal.
	members map[int]*member
	// refusals is when the registry last refused a node that may not have had the pull secret yet, by node.
	refusals map[string]time.Time
	// generation is the configuration generation that the pool was last reconciled with.
	generation int
}

// Pool returns the pool for new calls of a function, given its resolved reference and the current digest of the reference. This pool
// supersedes the other pools of the reference. The caller must call Done on the pool.
func (m *Manager) Pool(reference, digest string) *pool.Pool {
	m.mu.RLock()
	w := m.current[reference]
	if w != nil && w.ID.Digest == digest && w.generation == m.generation {
		w.Use()
		m.mu.RUnlock()
		return w.Pool
	}
	m.mu.RUnlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	w = m.makeCurrent(reference, digest)
	w.Use()
	return w.Pool
}

func (m *Manager) makeCurrent(reference, digest string) *workload {
	template := m.config.Templates.Current()
	values := m.values(reference)
	w := m.workload(podname.Identity{Image: reference, Digest: digest, Template: template.VersionFor(values)})
	w.template, w.values, w.generation = template, *values, m.generation
	m.current[reference] = w
	for _, other := range m.workloads {
		if other.ID.Image == reference {
			other.SetConfig(m.poolConfig(other))
		}
	}
	return w
}

// workload returns the workload with an identity, and creates it if needed.
func (m *Manager) workload(id podname.Identity) *workload {
	w := m.workloads[id]
	if w == nil {
		w = &workload{m: m, members: map[int]*member{}, refusals: map[string]time.Time{}, generation: -1}
		w.Pool = pool.New(id, m.config.Limits(id.Image).Config, func(pod *pool.Pod) { m.spawn(func() { m.provide(w, pod) }) })
		w.SetConfig(m.poolConfig(w))
		m.workloads[id] = w
	}
	return w
}

// configure updates the limits of all pools.
func (m *Manager) configure() {
	for _, w := range m.workloads {
		w.SetConfig(m.poolConfig(w))
	}
}

// values returns the values of a function's pods, except those that come from the registry.
func (m *Manager) values(reference string) *podtemplate.Values {
	limits := m.config.Limits(reference)
	return &podtemplate.Values{
		Reference: reference, MaxMessageSize: m.config.Endpoint.MaxMessageSize,
		MaxConcurrent: m.config.MaxConcurrent, StandbyProcesses: m.config.StandbyProcesses, Declared: limits.Declared, PullSecrets: m.config.PullSecrets, Overrides: limits.Overrides, Patches: limits.Patches, Resources: limits.Resources,
		ByReference: m.config.ImagesByReference,
	}
}

// superseded reports whether another pool has replaced a pool. A superseded pool gets no new calls.
func (m *Manager) superseded(w *workload) bool {
	current := m.current[w.ID.Image]
	return current != nil && current != w
}

func (m *Manager) poolConfig(w *workload) pool.Config {
	c := m.config.Limits(w.ID.Image).Config
	switch {
	case m.superseded(w):
		c.MinPods, c.TTL = 0, min(c.TTL, m.supersededTTL(w))
	case w.template == nil:
		// This replica does not know yet whether the pool is current for its reference.
		c.MinPods = 0
	}
	return c
}

// supersededTTL returns how long a pod of a superseded pool may be idle. Another replica, for which the pool is still current, would
// create a deleted pod again for its next call.
func (m *Manager) supersededTTL(w *workload) time.Duration {
	if m.current[w.ID.Image].ID.Digest != w.ID.Digest {
		return max(m.config.SupersededTTL, m.config.TagTTL)
	}
	return m.config.SupersededTTL
}

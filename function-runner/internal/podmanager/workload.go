// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/podname"
	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

// workload is a pool, with what its pods are made of and what Kubernetes knows of them. The manager's lock guards it.
type workload struct {
	*pool.Pool

	m *Manager
	// template and values are what pods are made of. They are nil and empty as long as the pool is only known from its pods.
	template *podtemplate.Template
	values   podtemplate.Values
	// platforms are those of the image, once this replica has created a pod.
	platforms []string
	// members are the pods, by ordinal.
	members map[int]*member
	// refusals says when the registry last refused a node that may have had no pull secret yet, by node.
	refusals map[string]time.Time
	// generation is the configuration generation that the pool was last reconciled with.
	generation int
}

// Pool returns the pool that calls of a function go to, by its resolved reference and the digest that this names now. It supersedes
// the other pools of the reference. The caller ends its use with Done.
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

// workload returns the workload with an identity, a new one if need be.
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

// configure gives all pools their limits.
func (m *Manager) configure() {
	for _, w := range m.workloads {
		w.SetConfig(m.poolConfig(w))
	}
}

// values returns what the pods of a function have in particular, but for what the registry tells.
func (m *Manager) values(reference string) *podtemplate.Values {
	limits := m.config.Limits(reference)
	return &podtemplate.Values{
		Reference: reference, MaxMessageSize: m.config.Endpoint.MaxMessageSize,
		MaxConcurrent: m.config.MaxConcurrent, StandbyProcesses: m.config.StandbyProcesses, Declared: limits.Declared, PullSecrets: m.config.PullSecrets, Overrides: limits.Overrides, Patches: limits.Patches, Resources: limits.Resources,
		ByReference: m.config.ImagesByReference,
	}
}

// superseded reports whether another pool has taken the place of a pool. It gets no new calls then.
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
		// Whether this is still what the reference names is not known yet.
		c.MinPods = 0
	}
	return c
}

// supersededTTL returns how long a pod of a superseded pool may be idle. Another replica may not know yet that it is superseded, and
// would create it again for its next call.
func (m *Manager) supersededTTL(w *workload) time.Duration {
	if m.current[w.ID.Image].ID.Digest != w.ID.Digest {
		return max(m.config.SupersededTTL, m.config.TagTTL)
	}
	return m.config.SupersededTTL
}

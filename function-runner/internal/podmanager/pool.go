// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/function-runner/internal/podname"
	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/services/cluster/podstatus"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/wrapperapi"
)

// Place is a call's place in a pod.
type Place = pool.Place[*endpoint.Endpoint]

// Pool is one pool: the pods of a function that run one image and look one way.
type Pool struct {
	id   podname.Identity
	hash string
	pool *pool.Pool[*endpoint.Endpoint]
	m    *Manager
	// users is how many hold this, so that it must not be forgotten.
	users atomic.Int64
	// took are how long calls took.
	took durations

	// The manager's lock guards what follows.

	// template and values are what pods are made of; nil while it is only known from pods.
	template *podtemplate.Template
	values   podtemplate.Values
	// platforms are those of the image, once a pod was made here.
	platforms []string
	// members are the pods that there are, by slot.
	members map[int]*member
	// retired pools get no new calls: another image or template has taken their place.
	retired bool
	// refusal is when the registry last refused a node that may have had no pull secret yet.
	refusal time.Time
	// epoch is the manager's when this was last held against templates and limits.
	epoch int
}

// retiredTTL is how long a pod of a retired pool may be idle. Another replica may not know yet that it is retired, and would
// make it anew for its next call; of a tag that moved it may know later still, see Config.TagTTL.
const retiredTTL = 30 * time.Second

// Pool returns the pool that calls of a function go to, by its resolved reference and the digest that this names now. A
// pool of the same reference that this takes the place of gets no more calls. The caller ends the use of it with Done.
func (m *Manager) Pool(reference, digest string) *Pool {
	m.mu.RLock()
	p := m.current[reference]
	if p != nil && p.id.Digest == digest && p.epoch == m.epoch {
		p.users.Add(1)
		m.mu.RUnlock()
		return p
	}
	m.mu.RUnlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	p = m.makeCurrent(reference, digest)
	p.users.Add(1)
	return p
}

func (m *Manager) makeCurrent(reference, digest string) *Pool {
	template := m.config.Templates.Current()
	values := m.values(reference)
	p := m.ensurePool(podname.Identity{Image: reference, Digest: digest, Template: template.VersionFor(values)})
	p.template, p.values, p.epoch, p.retired = template, *values, m.epoch, false
	m.current[reference] = p
	for _, other := range m.pools {
		if other.id.Image == reference && other != p && !other.retired {
			other.retired = true
			other.pool.SetConfig(m.poolConfig(other))
		}
	}
	p.pool.SetConfig(m.poolConfig(p))
	return p
}

// ensurePool returns the pool with an identity, a new one if need be.
func (m *Manager) ensurePool(id podname.Identity) *Pool {
	hash := id.Hash()
	p := m.pools[hash]
	if p == nil {
		p = &Pool{id: id, hash: hash, m: m, members: map[int]*member{}, epoch: -1}
		p.pool = pool.New[*endpoint.Endpoint](m.poolConfig(p), func(slot int) { m.want(p, slot) })
		m.pools[hash] = p
	}
	return p
}

// values returns what the pods of a function have in particular, but for what is asked of the registry.
func (m *Manager) values(reference string) *podtemplate.Values {
	limits := m.config.Limits(reference)
	return &podtemplate.Values{
		Reference: reference, MaxMessageSize: m.config.Endpoint.MaxMessageSize,
		MaxConcurrent: m.config.MaxConcurrent, StandbyProcesses: m.config.StandbyProcesses, Declared: limits.Declared, PullSecrets: m.config.PullSecrets, Overrides: limits.Overrides, Patches: limits.Patches, Resources: limits.Resources,
		ByReference: m.config.ImagesByReference,
	}
}

func (m *Manager) poolConfig(p *Pool) pool.Config {
	c := m.config.Limits(p.id.Image).Config
	switch {
	case p.retired:
		c.MinPods, c.TTL = 0, min(c.TTL, m.retiredTTL(p))
	case p.template == nil:
		// Whether this is still what the reference names is not known yet.
		c.MinPods = 0
	}
	return c
}

// retiredTTL returns how long a pod of a retired pool may be idle.
func (m *Manager) retiredTTL(p *Pool) time.Duration {
	if current := m.current[p.id.Image]; current != nil && current.id.Digest != p.id.Digest {
		return max(retiredTTL, m.config.TagTTL)
	}
	return retiredTTL
}

// Acquire returns a place in a pod, as soon as there is one; see pool.Pool. The error of a context that ends says what was
// waited for.
func (p *Pool) Acquire(ctx context.Context) (*Place, error) { return p.pool.Acquire(ctx) }

// Evaluate sends a call to the pod of a place. The pool learns of the pod's load, and a pod that does not take the call, though it has
// room, has to show anew that it serves. Errors are those of endpoint.Endpoint.
func (p *Pool) Evaluate(ctx context.Context, place *Place, list []byte) (evaluation.Response, error) {
	begin := time.Now()
	resp, err := place.Endpoint.Evaluate(ctx, p.id.Image, list, func(l wrapperapi.Load) { place.Report(l.Running + l.Waiting) })
	if err == nil {
		p.took.add(time.Since(begin))
	}
	if notRun, ok := errors.AsType[*endpoint.NotRunError](err); ok && !notRun.Busy {
		place.Endpoint.Suspect(err)
	}
	return resp, err
}

// Done ends the use.
func (p *Pool) Done() { p.users.Add(-1) }

// Identity returns what tells the pool from all others, for ever: what its pods run, and what they are made of.
func (p *Pool) Identity() string { return p.id.Image + "\x00" + p.id.Digest + "\x00" + p.id.Template }

// Stats are the sizes of the pool.
func (p *Pool) Stats() pool.Stats { return p.pool.Stats() }

// Explain says how far the pods are that are not ready.
func (p *Pool) Explain() string {
	p.m.mu.RLock()
	defer p.m.mu.RUnlock()
	var texts []string
	for _, slot := range slices.Sorted(maps.Keys(p.members)) {
		if mem := p.members[slot]; mem.State != lifecycle.Ready {
			texts = append(texts, mem.explain())
		}
	}
	if len(texts) == 0 {
		s := p.pool.Stats()
		return fmt.Sprintf("%d calls run in %d pods, %d pods are being made", s.Running, s.Ready, s.Starting)
	}
	return strings.Join(texts, "; ")
}

// explain says in a few words how far a pod is. The manager's lock is held.
func (mem *member) explain() string {
	switch {
	case mem.object == nil:
		return fmt.Sprintf("pod %s is being made", mem.name())
	case mem.Reason != nil:
		return fmt.Sprintf("pod %s is %s since %v: %v", mem.name(), mem.State, time.Since(mem.Since).Round(time.Second), mem.Reason)
	}
	return fmt.Sprintf("pod %s %s", mem.name(), podstatus.Progress(mem.object))
}

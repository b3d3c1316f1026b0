// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package pool spreads the calls of one function over its pods. It decides which pod runs a call, when another pod is needed, and
// which idle pods can go. It knows nothing of Kubernetes: its owner creates and deletes pods, and applies to them the events of
// package lifecycle. A pod's state is in its Pod and nowhere else. No method waits for anything but a lease.
package pool

import (
	"container/list"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/podname"
)

// Config has the limits of a pool. All but MinPods and TTL must be more than 0.
type Config struct {
	// MaxPods is the maximum number of pods that are starting or ready. MinPods of them are kept when they are idle.
	MaxPods, MinPods int
	// Waitlist is the number of calls that every pod must have before another pod is created.
	Waitlist int
	// PerPod is the maximum number of calls that this replica sends to a pod at once.
	PerPod int
	// MaxWaiting is the maximum number of calls in the queue.
	MaxWaiting int
	// TTL is how long a pod may be idle.
	TTL time.Duration
}

// Pool is the pods of a function that run one image and are made from one template. Its methods may be used concurrently.
type Pool struct {
	// ID tells the pool from all others.
	ID podname.Identity

	create func(*Pod)
	// rotation is where the search among equally loaded pods begins, so that not all replicas choose the same pod.
	rotation  int
	refs      atomic.Int64
	latencies latencies

	// mu guards what follows. No other lock is taken and nothing is waited for while it is held. Methods that can request pods
	// release it by unlock.
	mu     sync.Mutex
	config Config
	// pods are sorted by ordinal.
	pods []*Pod
	// queue has the *waiter of the calls that wait for a lease, in FIFO order. While it is not empty, no ready pod has room, and some
	// pod is starting or ready.
	queue *list.List
	// demand is closed when a call begins to wait; nil while nobody waits for that.
	demand chan struct{}
	// blocked has the ordinals that get no pod, and until when.
	blocked map[int]time.Time
	failure failure
	// requested are new pods that create is called for when the lock is released.
	requested []*Pod
}

// New returns a pool without pods. create is called for each pod that the pool needs, in state lifecycle.Requested; it must not wait
// nor call the pool before it returns. The owner answers by events, Abandon, Avoid or Remove.
func New(id podname.Identity, config Config, create func(*Pod)) *Pool {
	return &Pool{
		ID: id, create: create, rotation: rand.IntN(1 << 16), //nolint:gosec // chance, not a secret
		config: config, queue: list.New(), blocked: map[int]time.Time{},
	}
}

// unlock ends a change and requests the pods that it asked for.
func (p *Pool) unlock() {
	pods := p.requested
	p.requested = nil
	p.mu.Unlock()
	for _, pod := range pods {
		p.create(pod)
	}
}

// Use counts a user of the pool, until Done.
func (p *Pool) Use() { p.refs.Add(1) }

// Done ends a use.
func (p *Pool) Done() { p.refs.Add(-1) }

// Config returns the limits.
func (p *Pool) Config() Config {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.config
}

// SetConfig changes the limits. Lower limits end no running or waiting call.
func (p *Pool) SetConfig(config Config) {
	p.mu.Lock()
	defer p.unlock()
	p.config = config
	p.dispatch()
	p.grow(p.missing())
}

// Fill requests the pods that are missing from the minimum.
func (p *Pool) Fill() {
	p.mu.Lock()
	defer p.unlock()
	p.grow(p.missing())
}

// Warm requests a pod if the pool has none.
func (p *Pool) Warm() {
	p.mu.Lock()
	defer p.unlock()
	if p.live() == 0 {
		p.grow(1)
	}
}

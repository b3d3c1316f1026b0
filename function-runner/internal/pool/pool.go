// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package pool distributes the calls of one function over its pods. It decides which pod runs a call, when another pod is needed, and
// which idle pods can be deleted. It is independent of Kubernetes: its owner creates and deletes pods, and applies the events of package
// lifecycle to them. The state of a pod is only in its Pod. Only Acquire, Reacquire and WarmSoon block.
package pool

import (
	"container/list"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/podname"
)

// Config holds the limits of a pool. MaxPods, Waitlist and PerPod must be positive.
type Config struct {
	// MaxPods is the maximum number of starting and ready pods. MinPods is the number of pods that are kept when they are idle.
	MaxPods, MinPods int
	// Waitlist is the number of calls that every pod must have before another pod is created.
	Waitlist int
	// PerPod is the maximum number of concurrent calls of this replica in a pod.
	PerPod int
	// MaxWaiting is the maximum number of calls in the queue.
	MaxWaiting int
	// TTL is the idle time after which a pod can be deleted.
	TTL time.Duration
}

// Pool is a set of pods of one function that run one image and have one template version. Its methods are safe for concurrent use.
type Pool struct {
	// ID identifies the pool.
	ID podname.Identity

	create func(*Pod)
	// rotation is the start index of the search for the least loaded pod, so that not all replicas choose the same pod.
	rotation  int
	refs      atomic.Int64
	latencies latencies

	// mu guards the following fields. A goroutine that holds it neither takes another lock nor blocks. Methods that can request pods
	// release it with unlock.
	mu     sync.Mutex
	config Config
	// pods are sorted by ordinal.
	pods []*Pod
	// queue holds the *waiter of each call that waits for a lease, in FIFO order. While the queue is not empty, no ready pod has
	// capacity, and some pod is starting or ready.
	queue *list.List
	// demand is closed when a call begins to wait. It is nil while no caller of Demand waits.
	demand chan struct{}
	// blocked maps ordinals that must not be used to the times when they become free.
	blocked map[int]time.Time
	failure failure
	// requested holds new pods. unlock calls create for them.
	requested []*Pod
}

// New returns a pool without pods. The pool calls create for each pod that it needs, in state lifecycle.Requested. create must not block,
// and must not call the pool before it returns. The owner then applies events to the pod, or calls Abandon, Withdraw, Avoid or Remove.
func New(id podname.Identity, config Config, create func(*Pod)) *Pool {
	return &Pool{
		ID: id, create: create, rotation: rand.IntN(1 << 16), //nolint:gosec // chance, not a secret
		config: config, queue: list.New(), blocked: map[int]time.Time{},
	}
}

// unlock releases the lock and creates the requested pods.
func (p *Pool) unlock() {
	pods := p.requested
	p.requested = nil
	p.mu.Unlock()
	for _, pod := range pods {
		p.create(pod)
	}
}

// Use adds a reference to the pool, which Done removes. A pool with references is not forgotten.
func (p *Pool) Use() { p.refs.Add(1) }

// Done removes a reference.
func (p *Pool) Done() { p.refs.Add(-1) }

// Config returns the limits.
func (p *Pool) Config() Config {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.config
}

// SetConfig changes the limits. Lower limits do not affect running and waiting calls.
func (p *Pool) SetConfig(config Config) {
	p.mu.Lock()
	defer p.unlock()
	p.config = config
	p.dispatch()
	p.grow(p.missing())
}

// Fill requests the pods that the minimum and the waiting calls need.
func (p *Pool) Fill() {
	p.mu.Lock()
	defer p.unlock()
	p.grow(p.missing())
}

// Warm requests a pod if the pool has no live pod.
func (p *Pool) Warm() {
	p.mu.Lock()
	defer p.unlock()
	if p.live() == 0 {
		p.grow(1)
	}
}

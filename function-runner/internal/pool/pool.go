// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package pool spreads the calls of one function over its pods. It knows nothing of Kubernetes: who makes the pods tells it
// what becomes of them, and is told when another is wanted. No call of it waits for anything but a place.
package pool

import (
	"container/list"
	"math/rand/v2"
	"sync"
	"time"
)

// Config has the limits of a pool. All but MinPods and TTL must be more than 0.
type Config struct {
	// MaxPods is the most pods that are starting or ready, and MinPods the fewest: those are kept when they are idle.
	MaxPods, MinPods int
	// Waitlist is how many calls all pods must have before another pod is made.
	Waitlist int
	// PerPod is how many calls a pod gets from here at once.
	PerPod int
	// MaxWaiting is how many calls may wait for a place.
	MaxWaiting int
	// TTL is how long a pod may be idle.
	TTL time.Duration
}

// Pool is all pods of one function, each in a slot: a number from 1 that is part of its name. P is what calls are sent to.
//
// A pool may be used by any number of goroutines at once.
type Pool[P any] struct {
	want func(slot int)
	// rotation is where the search among equally loaded pods begins, so that not all replicas take the same.
	rotation int

	// mu guards what follows. Nothing is locked and nothing waited for while it is held. Who changes anything ends with unlock.
	mu     sync.Mutex
	config Config
	// pods are sorted by slot.
	pods []*pod[P]
	// waiting has the *waiter[P] of the calls without a place, in the order in which they came. While there are any, no ready
	// pod has a place free, and a pod is starting or ready.
	waiting *list.List
	// awaited is closed when a call begins to wait; nil where nobody has asked since that was last so.
	awaited chan struct{}
	// blocked has the slots that get no pod, and until when.
	blocked map[int]time.Time
	// failure is why pods do not start, if so.
	failure failure
	// asked are the slots that want a pod when the lock is released.
	asked []int
}

type pod[P any] struct {
	slot     int
	state    state
	endpoint P
	// running is how many calls from here have a place.
	running int
	// others is how many calls of others it had when a report last came; see load.
	others   float64
	reported time.Time
	// came is when the pod was wanted or first heard of, and ready when it last became ready.
	came, ready time.Time
	// used is when a call last gave its place back, or the pod became ready; called the former only; named is when Idle or
	// Spare last named it.
	used, called, named time.Time
	// served says that it has been ready, and failed that it never was nor will be.
	served, failed bool
	// problem is why a starting pod may never become ready.
	problem error
	// recalled says that a starting pod was given up and is wanted back.
	recalled bool
}

type state int

const (
	// starting pods count towards the maximum and run nothing yet.
	starting state = iota
	// ready pods take calls, and count.
	ready
	// unreachable pods take none and do not count, but may become ready again.
	unreachable
	// givenUp pods are about to be deleted. They take none and do not count, unless they are wanted back first.
	givenUp
	// leaving pods finish their calls and take none. They hold their slots, and do not count.
	leaving
)

// New returns a pool without pods. want is told which slot wants a pod: a new one, or the one there that was given up, whose
// deletion is then to be called off. It must not wait, nor call the pool before it returns. Each want is answered: by Ready or
// Keep, or by what became of the pod instead.
func New[P any](config Config, want func(slot int)) *Pool[P] {
	return &Pool[P]{
		want: want, rotation: rand.IntN(1 << 16), //nolint:gosec // chance, not a secret
		config: config, waiting: list.New(), blocked: map[int]time.Time{},
	}
}

// unlock ends a change, and then wants the pods that it asked for.
func (p *Pool[P]) unlock() {
	slots := p.asked
	p.asked = nil
	p.mu.Unlock()
	for _, slot := range slots {
		p.want(slot)
	}
}

// Config returns the limits.
func (p *Pool[P]) Config() Config {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.config
}

// SetConfig changes the limits. Calls that run or wait are not ended by lower ones.
func (p *Pool[P]) SetConfig(config Config) {
	p.mu.Lock()
	defer p.unlock()
	p.config = config
	p.dispatch()
	p.grow(p.missing())
}

// Fill wants the pods that are missing to the minimum.
func (p *Pool[P]) Fill() {
	p.mu.Lock()
	defer p.unlock()
	p.grow(p.missing())
}

// Warm wants a pod where there is none.
func (p *Pool[P]) Warm() {
	p.mu.Lock()
	defer p.unlock()
	if p.live() == 0 {
		p.grow(1)
	}
}

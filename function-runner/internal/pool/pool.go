// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package pool spreads the calls of one function over its pods. It knows nothing of Kubernetes: who makes the pods tells it
// what becomes of them, and is told when another is wanted. No call of it waits for anything but a place.
package pool

import (
	"container/list"
	"sync"
	"time"
)

// Config has the limits of a pool. All but MinPods and TTL must be more than 0.
type Config struct {
	// MaxPods is the most pods that are starting or ready, and MinPods the fewest: those are kept when they are idle.
	MaxPods, MinPods int
	// Waitlist is how many calls all pods must have before another pod is made.
	Waitlist int
	// PerPod is how many calls a pod runs at once.
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
	start func(slot int)

	// mu guards what follows. Nothing is locked and nothing waited for while it is held; start is called without it.
	mu     sync.Mutex
	config Config
	// pods are sorted by slot.
	pods []*pod[P]
	// waiting has the *waiter[P] of the calls without a place, in the order in which they came. While there are any, no pod
	// has a place free.
	waiting *list.List
	// freed has the slots whose pods have gone lately.
	freed map[int]time.Time
}

// cooling is how long a slot stays empty after its pod has gone. Another replica may see that later, and take the next slot
// instead, which would make one pod too many.
const cooling = 5 * time.Second

type pod[P any] struct {
	slot     int
	state    state
	endpoint P
	// running is how many calls have a place.
	running int
	// used is when a call last gave its place back, or the pod became ready; called the former only.
	used, called time.Time
	// ready is when the pod became ready.
	ready time.Time
	// problem is why a starting pod may never become ready, and failed says that it does not.
	problem error
	failed  bool
}

type state int

const (
	// starting pods count towards the maximum and run nothing yet.
	starting state = iota
	// ready pods take calls.
	ready
	// leaving pods finish their calls and take none. They hold their slots, and do not count.
	leaving
)

// New returns a pool without pods. start is told which slot wants a pod; it must not wait, nor call the pool before it
// returns.
func New[P any](config Config, start func(slot int)) *Pool[P] {
	return &Pool[P]{start: start, config: config, waiting: list.New(), freed: map[int]time.Time{}}
}

// SetConfig changes the limits. Calls that run or wait are not ended by lower ones.
func (p *Pool[P]) SetConfig(config Config) {
	p.mu.Lock()
	p.config = config
	p.dispatch()
	slots := p.grow(p.missing())
	p.mu.Unlock()
	p.startAll(slots)
}

// Stats are the sizes of a pool at one moment.
type Stats struct {
	// Starting, Ready and Leaving are numbers of pods.
	Starting, Ready, Leaving int
	// Running and Waiting are numbers of calls.
	Running, Waiting int
}

// Stats returns the sizes.
func (p *Pool[P]) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Stats{Waiting: p.waiting.Len()}
	for _, m := range p.pods {
		s.Running += m.running
		switch m.state {
		case starting:
			s.Starting++
		case ready:
			s.Ready++
		case leaving:
			s.Leaving++
		}
	}
	return s
}

// Use is how a ready pod is used.
type Use struct {
	// Slot is the pod's, and Running how many calls it runs.
	Slot, Running int
	// Last is when a call last ended, now while any runs, and zero before the first.
	Last time.Time
}

// Uses returns how the ready pods are used, by slot.
func (p *Pool[P]) Uses() []Use {
	p.mu.Lock()
	defer p.mu.Unlock()
	var uses []Use
	for _, m := range p.pods {
		if m.state != ready {
			continue
		}
		use := Use{Slot: m.slot, Running: m.running, Last: m.called}
		if m.running > 0 {
			use.Last = time.Now()
		}
		uses = append(uses, use)
	}
	return uses
}

func (p *Pool[P]) startAll(slots []int) {
	for _, slot := range slots {
		p.start(slot)
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package scale

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"
)

// Event is what happens to a cluster under load.
type Event string

// The events.
const (
	// None: the load alone.
	None Event = "none"
	// Rollout: a release with another pod template replaces the replicas one after the other.
	Rollout Event = "rollout"
	// NodeLost: one of 20 nodes falls silent.
	NodeLost Event = "node lost"
	// APIServerAway: the API server is away for a minute.
	APIServerAway Event = "API server away"
	// RestartAll: all replicas restart at once.
	RestartAll Event = "all restarted"
)

const (
	// first is how long the first calls of all functions take together, and steady how long the load runs before and after an event.
	first, steady = time.Minute, time.Minute
	outage        = time.Minute
	// calmLimit is the share of slow calls above which a window, in seconds, is not calm.
	calmLimit = 0.01
	window    = 10
)

// Result is what was seen.
type Result struct {
	Size  Size
	Event Event
	// FirstCalls is what happened until every function had been called, Steady before the event, and Event from it on.
	First, Before, After Phase
	// Calm is how many seconds after the end of the event fewer than one call in a hundred was slow for good; -1 for never.
	Calm int
	// Pods is the largest number of pods that ran at once, before the event.
	Pods int
	// Lost are calls that a lost node had begun to run.
	Lost int
	// Memory is the heap of a replica in bytes, without its gRPC connections.
	Memory uint64
	// Seconds are the calls, and Requests the requests to the API server, second by second.
	Seconds  []second
	Requests []int
	// At and Until are the seconds in which the event began and ended.
	At, Until int
	// Errors are why calls failed, with their numbers.
	Errors map[string]int
}

// Phase is a part of a simulation.
type Phase struct {
	Duration time.Duration
	Requests requests
	// Pods is how many have run.
	Pods                int
	Calls, Slow, Failed int
}

// CreationsPerPod is the number of requests that creating one pod has taken.
func (p Phase) CreationsPerPod() float64 {
	return float64(p.Requests.Created+p.Requests.Collisions+p.Requests.Get) / float64(max(1, p.Requests.Created))
}

// run plays a scenario. It must be called in a bubble.
func run(t testing.TB, size Size, event Event) Result {
	s := newSimulation(t, size)
	defer s.end()
	result := Result{Size: size, Event: event}
	ctx, cancel := context.WithCancel(context.Background())
	var loading sync.WaitGroup
	measure := s.measure()
	loading.Go(func() { s.load.run(ctx) })
	s.load.each(first)
	result.First = measure()
	measure = s.measure()
	time.Sleep(steady)
	result.Before, result.Pods = measure(), s.nodes.most
	result.At = int(time.Since(s.load.begin) / time.Second)
	measure = s.measure()
	s.play(event)
	result.Until = int(time.Since(s.load.begin) / time.Second)
	time.Sleep(2 * steady)
	cancel()
	loading.Wait()
	result.After = measure()
	result.Memory = s.memory()
	result.Seconds, result.Requests, result.Lost, result.Errors = s.load.seconds, s.api.perSecond, s.load.lost, s.load.errors
	result.Calm = calm(result.Seconds, result.Until)
	return result
}

// play has an event happen, and returns when it is over.
func (s *Simulation) play(event Event) {
	switch event {
	case Rollout:
		for i := range s.replicas {
			s.restart(i, "v2")
		}
	case NodeLost:
		s.nodes.lose(s.nodes.all[0])
	case APIServerAway:
		s.api.setAway(true)
		time.Sleep(outage)
		s.api.setAway(false)
	case RestartAll:
		var restarting sync.WaitGroup
		for i := range s.replicas {
			restarting.Go(func() { s.restart(i, "v1") })
		}
		restarting.Wait()
	}
}

// measure begins a phase and returns what ends it.
func (s *Simulation) measure() func() Phase {
	begin, requests, pods, calls := time.Now(), s.api.counted(), s.nodes.madeSoFar(), s.load.total()
	return func() Phase {
		now := s.load.total()
		return Phase{
			Duration: time.Since(begin), Requests: s.api.counted().minus(requests), Pods: s.nodes.madeSoFar() - pods,
			Calls: now.Calls - calls.Calls, Slow: now.Slow - calls.Slow, Failed: now.Failed - calls.Failed,
		}
	}
}

// memory returns how much the heap shrinks when a replica ends.
func (s *Simulation) memory() uint64 {
	before := heap()
	for i, r := range s.replicas {
		r.shutDown()
		s.replicas[i] = nil
	}
	after := heap()
	n := len(s.replicas)
	s.replicas = nil
	return (max(before, after) - after) / uint64(n)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// calm returns how many seconds after an event the last window ended in which more calls than calmLimit were slow or failed; -1 if that
// was the last window.
func calm(seconds []second, until int) int {
	last := until
	for i := until; i+window <= len(seconds); i++ {
		var sum second
		for _, s := range seconds[i : i+window] {
			sum.Calls, sum.Slow = sum.Calls+s.Calls, sum.Slow+s.Slow+s.Failed
		}
		if float64(sum.Slow) > calmLimit*float64(sum.Calls) {
			last = i + 1
		}
	}
	if last+window > len(seconds) {
		return -1
	}
	return last - until
}

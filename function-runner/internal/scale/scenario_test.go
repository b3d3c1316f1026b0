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

// Event is an event in a cluster under load.
type Event string

// Events of a simulation.
const (
	// None: no event.
	None Event = "none"
	// Rollout: a release with another pod template replaces the replicas one by one.
	Rollout Event = "rollout"
	// NodeLost: one of 20 nodes falls silent.
	NodeLost Event = "node lost"
	// APIServerAway: the API server is unreachable for the duration of outage.
	APIServerAway Event = "API server away"
	// RestartAll: all replicas restart at the same time.
	RestartAll Event = "all restarted"
)

const (
	// first is the time over which each function is called for the first time. The load runs for steady before an event, and for twice
	// that time after it.
	first, steady = time.Minute, time.Minute
	outage        = time.Minute
	// calmLimit is the maximum share of slow and failed calls in a calm window, which has a length of window seconds.
	calmLimit = 0.01
	window    = 10
)

// Result is the result of a simulation.
type Result struct {
	Size  Size
	Event Event
	// First is the phase of the first calls, Before is the phase before the event, and After is the phase from the start of the event on.
	First, Before, After Phase
	// Calm is the number of seconds from the end of the event until all further windows are calm, or -1 if the last window is not.
	Calm int
	// Pods is the maximum number of pods that ran at the same time before the event.
	Pods int
	// Lost is the number of calls that were running on a lost node.
	Lost int
	// Memory is the heap size of a replica in bytes, without gRPC connections.
	Memory uint64
	// Seconds holds the calls, and Requests the number of requests to the API server, by second.
	Seconds  []second
	Requests []int
	// At and Until are the seconds in which the event began and ended.
	At, Until int
	// Errors counts failed calls by error.
	Errors map[string]int
}

// Phase is the measurement of a part of a simulation.
type Phase struct {
	Duration time.Duration
	Requests requests
	// Pods is the number of pods that were started.
	Pods                int
	Calls, Slow, Failed int
}

// CreationsPerPod is the number of requests per created pod.
func (p Phase) CreationsPerPod() float64 {
	return float64(p.Requests.Created+p.Requests.Collisions+p.Requests.Get) / float64(max(1, p.Requests.Created))
}

// run runs a simulation. It must be called in a bubble.
func run(t testing.TB, size Size, event Event) Result {
	s := newSimulation(t, size)
	defer s.end()
	result := Result{Size: size, Event: event}
	ctx, cancel := context.WithCancel(t.Context())
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

// play triggers an event, and returns when the event is over.
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

// measure starts the measurement of a phase. The returned function ends it.
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

// memory returns the average by which the heap shrinks when a replica stops.
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

// calm returns the number of seconds from the end of an event until all further windows are calm, or -1 if the last window is not calm.
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

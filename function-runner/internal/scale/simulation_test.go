// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package scale simulates function runners at scale: 1 to 50 replicas with their real managers, pools and evaluators, in the fake time of
// a testing/synctest bubble, with a simulated API server, scheduler, kubelets and network. It measures the requests to the API server,
// how many pods exist beyond those that are needed, and how long events in the cluster affect calls.
package scale

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

// Simulation is a cluster with function runners and their load, in the fake time of a bubble.
type Simulation struct {
	t       testing.TB
	limits  pool.Config
	cluster *simulation.Cluster
	api     *apiServer
	network *network
	nodes   *nodes
	load    *load

	mu       sync.RWMutex
	replicas []*replica
}

// Size is the size of a simulation.
type Size struct {
	Replicas, Functions int
	// Rate is the number of calls per second.
	Rate float64
	// MaxPods is the maximum number of pods per function. At high rates, the most popular function needs more than two pods.
	MaxPods int
}

func (s Size) String() string {
	return fmt.Sprintf("%d replicas, %d functions with at most %d pods each, %g calls/s", s.Replicas, s.Functions, s.MaxPods, s.Rate)
}

// newSimulation starts the replicas of a cluster without pods.
func newSimulation(t testing.TB, size Size) *Simulation {
	c := simulation.New(t)
	n := &network{servers: map[string]*server{}}
	limits := defaults
	limits.MaxPods = size.MaxPods
	s := &Simulation{t: t, limits: limits, cluster: c, api: newAPIServer(c), network: n, nodes: newNodes(c, n), replicas: make([]*replica, size.Replicas)}
	s.load = newLoad(s, size.Functions, size.Rate)
	for i := range s.replicas {
		s.start(i, "v1")
	}
	return s
}

// start starts a replica at an index.
func (s *Simulation) start(i int, release string) {
	r, err := newReplica(context.Background(), s, release)
	if err != nil {
		s.t.Fatal(err)
	}
	select {
	case <-r.manager.Synced():
	case <-time.After(deadline):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas[i] = r
}

// restart shuts a replica down and starts another one.
func (s *Simulation) restart(i int, release string) {
	s.mu.Lock()
	r := s.replicas[i]
	s.replicas[i] = nil
	s.mu.Unlock()
	r.shutDown()
	s.start(i, release)
}

// evaluate makes a call at a random replica. While that replica restarts, it retries, like a client that reconnects.
func (s *Simulation) evaluate(ctx context.Context, image string) error {
	for {
		s.mu.RLock()
		r := s.replicas[rand.N(len(s.replicas))]
		s.mu.RUnlock()
		if r != nil && r.enter() {
			defer r.calls.Done()
			return r.evaluate(ctx, image)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// end shuts all replicas down and ends the simulation.
func (s *Simulation) end() {
	var ending sync.WaitGroup
	for _, r := range s.replicas {
		ending.Go(r.shutDown)
	}
	ending.Wait()
	s.api.forwarding.Wait()
	close(s.nodes.end)
}

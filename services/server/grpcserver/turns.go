// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"context"
	"sync"

	"google.golang.org/grpc/peer"

	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/server/connections"
)

// turns lets few calls be read at a time, first come, first served, and a limited number wait. What one peer can take leaves some
// places to the other peers, however slowly it sends.
type turns struct {
	// readers and waiting are the limits of one peer.
	readers, waiting int
	reading          *evaluation.Gate

	mu      sync.Mutex
	present int
	peers   map[string]*peerTurns
}

// peerTurns are the calls of one peer.
type peerTurns struct {
	*evaluation.Gate
	present int
}

// others returns how much of a limit is for all peers but one.
func others(limit int) int { return limit/4 + 1 }

func newTurns(readers, waiting int) *turns {
	// What waits at the gate for all is not more than what waits at those of the peers.
	gate := evaluation.NewGate(readers+others(readers), readers+waiting+others(waiting))
	return &turns{readers: readers, waiting: waiting, reading: gate, peers: map[string]*peerTurns{}}
}

// enter waits for the call's turn to be read, which ends with leave. The error is a *evaluation.BusyError if too many wait, or the cause
// of the context's end.
func (t *turns) enter(ctx context.Context) (leave func(), err error) {
	own, depart, err := t.arrive(ctx)
	if err != nil {
		return nil, err
	}
	leaveOwn, _, err := own.Enter(ctx)
	if err != nil {
		depart()
		return nil, err
	}
	leaveAll, _, err := t.reading.Enter(ctx)
	if err != nil {
		leaveOwn()
		depart()
		return nil, err
	}
	return func() {
		leaveAll()
		leaveOwn()
		depart()
	}, nil
}

// crowded reports whether more than half of the calls that may be read at a time are.
func (t *turns) crowded() bool {
	running, _ := t.reading.Load()
	return 2*running > t.readers
}

// arrive returns the gate of the call's peer, which belongs to the peer's calls until depart.
func (t *turns) arrive(ctx context.Context) (own *peerTurns, depart func(), err error) {
	host := callerHost(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	own = t.peers[host]
	// A peer's calls count before its own gate refuses them. They must not take the places of other peers meanwhile.
	if own != nil && own.present == t.readers+t.waiting || t.present == t.readers+t.waiting+others(t.readers)+others(t.waiting) {
		return nil, nil, &evaluation.BusyError{Running: t.readers, Waiting: t.waiting}
	}
	if own == nil {
		own = &peerTurns{Gate: evaluation.NewGate(t.readers, t.waiting)}
		t.peers[host] = own
	}
	t.present++
	own.present++
	return own, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.present--
		if own.present--; own.present == 0 {
			delete(t.peers, host)
		}
	}, nil
}

// callerHost returns the address of a call's client without its port.
func callerHost(ctx context.Context) string {
	caller, ok := peer.FromContext(ctx)
	if !ok || caller.Addr == nil {
		return ""
	}
	return connections.Host(caller.Addr)
}

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

// turns limits how many calls are read at a time and how many wait, first come, first served. The limit of one peer leaves
// places for other peers, however slowly the peer sends.
type turns struct {
	// readers and waiting are the limits of one peer.
	readers, waiting int
	reading          *evaluation.Gate

	mu      sync.Mutex
	present int
	peers   map[string]*peerTurns
}

// peerTurns holds the calls of one peer.
type peerTurns struct {
	*evaluation.Gate
	present int
}

// others returns the part of a limit that is reserved for all peers but one.
func others(limit int) int { return limit/4 + 1 }

func newTurns(readers, waiting int) *turns {
	// All calls that may wait at the peers' gates fit into the common gate.
	gate := evaluation.NewGate(readers+others(readers), readers+waiting+others(waiting))
	return &turns{readers: readers, waiting: waiting, reading: gate, peers: map[string]*peerTurns{}}
}

// enter waits until the call may be read. The caller must call leave afterwards. The error is a *evaluation.BusyError if too
// many calls wait, or the context's cause.
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

// crowded reports whether calls use more than half of one peer's readers.
func (t *turns) crowded() bool {
	running, _ := t.reading.Load()
	return 2*running > t.readers
}

// arrive counts the call and returns the gate of its peer. The gate exists until the peer's last call departs.
func (t *turns) arrive(ctx context.Context) (own *peerTurns, depart func(), err error) {
	host := callerHost(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	own = t.peers[host]
	// Count a peer's calls here, before they enter the peer's gate, so that calls that the gate will reject do not take the
	// places of other peers.
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

// callerHost returns the address of a call's client without the port.
func callerHost(ctx context.Context) string {
	caller, ok := peer.FromContext(ctx)
	if !ok || caller.Addr == nil {
		return ""
	}
	return connections.Host(caller.Addr)
}

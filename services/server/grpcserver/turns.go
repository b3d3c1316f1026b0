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

// peerQueues limits how many calls are read at a time and how many wait, first come, first served. The limit of one peer leaves
// places for other peers, however slowly the peer sends.
type peerQueues struct {
	// readers and waiting are the limits of one peer.
	readers, waiting int
	reading          *evaluation.Gate

	mu    sync.Mutex
	count int
	peers map[string]*peerQueue
}

// peerQueue holds the calls of one peer.
type peerQueue struct {
	*evaluation.Gate
	count int
}

// reservedForOthers returns the part of a limit that is reserved for all peers but one.
func reservedForOthers(limit int) int { return limit/4 + 1 }

func newPeerQueues(readers, waiting int) *peerQueues {
	// All calls that may wait at the peers' gates fit into the common gate.
	gate := evaluation.NewGate(readers+reservedForOthers(readers), readers+waiting+reservedForOthers(waiting))
	return &peerQueues{readers: readers, waiting: waiting, reading: gate, peers: map[string]*peerQueue{}}
}

// enter waits until the call may be read. The caller must call leave afterwards. The error is a *evaluation.BusyError if too
// many calls wait, or the context's cause.
func (t *peerQueues) enter(ctx context.Context) (leave func(), err error) {
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

// queueFullStatus reports whether calls use more than half of one peer's readers.
func (t *peerQueues) crowded() bool {
	running, _ := t.reading.Load()
	return 2*running > t.readers
}

// arrive counts the call and returns the gate of its peer. The gate exists until the peer's last call departs.
func (t *peerQueues) arrive(ctx context.Context) (own *peerQueue, depart func(), err error) {
	host := callerHost(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	own = t.peers[host]
	// Count a peer's calls here, before they enter the peer's gate, so that calls that the gate will reject do not take the
	// places of other peers.
	if own != nil && own.count == t.readers+t.waiting || t.count == t.readers+t.waiting+reservedForOthers(t.readers)+reservedForOthers(t.waiting) {
		return nil, nil, &evaluation.BusyError{Running: t.readers, Waiting: t.waiting}
	}
	if own == nil {
		own = &peerQueue{Gate: evaluation.NewGate(t.readers, t.waiting)}
		t.peers[host] = own
	}
	t.count++
	own.count++
	return own, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.count--
		if own.count--; own.count == 0 {
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

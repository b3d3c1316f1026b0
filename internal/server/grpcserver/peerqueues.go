// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"context"
	"sync"

	"google.golang.org/grpc/peer"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/server/connections"
	"github.com/krmfn/krmfn/services/evaluation"
)

// peerQueues limits how many calls are read at a time and how many wait, first come, first served. The limit of one peer leaves
// capacity for other peers, however slowly the peer sends.
type peerQueues struct {
	// readers and waiting are the limits of one peer.
	readers, waiting int
	reading          *middleware.Gate

	mu    sync.Mutex
	count int
	peers map[string]*peerQueue
}

// peerQueue holds the calls of one peer.
type peerQueue struct {
	*middleware.Gate
	count int
}

// reservedForOthers returns the part of a limit that is reserved for all peers but one.
func reservedForOthers(limit int) int { return limit/4 + 1 }

func newPeerQueues(readers, waiting int) *peerQueues {
	// All calls that may wait at the peers' gates fit into the common gate.
	gate := middleware.NewGate(readers+reservedForOthers(readers), readers+waiting+reservedForOthers(waiting))
	return &peerQueues{readers: readers, waiting: waiting, reading: gate, peers: map[string]*peerQueue{}}
}

// enter waits until the call may be read. The caller must call leave afterwards. The error is a *evaluation.BusyError if too
// many calls wait, or the context's cause.
func (q *peerQueues) enter(ctx context.Context) (leave func(), err error) {
	own, depart, err := q.arrive(ctx)
	if err != nil {
		return nil, err
	}
	leaveOwn, _, err := own.Enter(ctx)
	if err != nil {
		depart()
		return nil, err
	}
	leaveAll, _, err := q.reading.Enter(ctx)
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
func (q *peerQueues) crowded() bool {
	running, _ := q.reading.Load()
	return 2*running > q.readers
}

// arrive counts the call and returns the gate of its peer. The gate exists until the peer's last call departs.
func (q *peerQueues) arrive(ctx context.Context) (own *peerQueue, depart func(), err error) {
	host := callerHost(ctx)
	q.mu.Lock()
	defer q.mu.Unlock()
	own = q.peers[host]
	// Count a peer's calls here, before they enter the peer's gate, so that calls that the gate will reject do not take the
	// capacity of other peers.
	if own != nil && own.count == q.readers+q.waiting || q.count == q.readers+q.waiting+reservedForOthers(q.readers)+reservedForOthers(q.waiting) {
		return nil, nil, &evaluation.BusyError{Running: q.readers, Waiting: q.waiting}
	}
	if own == nil {
		own = &peerQueue{Gate: middleware.NewGate(q.readers, q.waiting)}
		q.peers[host] = own
	}
	q.count++
	own.count++
	return own, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.count--
		if own.count--; own.count == 0 {
			delete(q.peers, host)
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

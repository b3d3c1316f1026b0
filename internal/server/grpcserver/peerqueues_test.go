// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/peer"

	"github.com/krmfn/krmfn/services/evaluation"
)

// by returns the context of a call by a peer.
func by(ctx context.Context, port int, host ...byte) context.Context {
	return peer.NewContext(ctx, &peer.Peer{Addr: &net.TCPAddr{IP: host, Port: port}})
}

// While one peer is at its limits for reading and waiting, calls of another peer are read.
func TestPeerQueuesLeaveCapacityToOtherPeers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const readers, waiting = 4, 8
		queues := newPeerQueues(readers, waiting)
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan error, waiting)
		leaves := make([]func(), 0, readers)
		for i := range readers + waiting {
			call := by(ctx, i, 10, 0, 0, 1)
			if i < readers {
				leave, err := queues.enter(call)
				if err != nil {
					t.Fatal(err)
				}
				leaves = append(leaves, leave)
				continue
			}
			go func() {
				_, err := queues.enter(call)
				results <- err
			}()
		}
		synctest.Wait()
		if _, err := queues.enter(by(ctx, 100, 10, 0, 0, 1)); !errors.As(err, new(*evaluation.BusyError)) {
			t.Errorf("enter() of one more call of the peer: error = %v, want a BusyError", err)
		}
		leave, err := queues.enter(by(ctx, 100, 10, 0, 0, 2))
		if err != nil {
			t.Fatalf("enter() of another peer's call: %v", err)
		}
		leave()
		cancel()
		for range waiting {
			if err := <-results; !errors.Is(err, context.Canceled) {
				t.Errorf("enter() of a call that ends: error = %v, want %v", err, context.Canceled)
			}
		}
		for _, leave := range leaves {
			leave()
		}
		if len(queues.peers) != 0 || queues.count != 0 {
			t.Errorf("after all calls, %d calls of %d peers are counted, want none", queues.count, len(queues.peers))
		}
	})
}

// All peers together are limited, too.
func TestPeerQueuesLimitAllPeers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const readers, waiting = 4, 8
		queues := newPeerQueues(readers, waiting)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		most := readers + waiting + reservedForOthers(readers) + reservedForOthers(waiting)
		for i := range most {
			go func() { _, _ = queues.enter(by(ctx, 1, 10, 0, 0, byte(i))) }()
		}
		synctest.Wait()
		if running, _ := queues.reading.Load(); running != readers+reservedForOthers(readers) || !queues.crowded() {
			t.Errorf("%d calls are being read, crowded() = %v, want %d and true", running, queues.crowded(), readers+reservedForOthers(readers))
		}
		if _, err := queues.enter(by(ctx, 1, 10, 0, 1, 1)); !errors.As(err, new(*evaluation.BusyError)) {
			t.Errorf("enter() of call %d: error = %v, want a BusyError", most, err)
		}
	})
}

// A burst of calls of one peer, which arrive before any of them has entered or been rejected, leaves capacity for another peer.
func TestBurstLeavesCapacityToOtherPeers(t *testing.T) {
	t.Parallel()
	const readers, waiting = 4, 8
	queues := newPeerQueues(readers, waiting)
	for i := range 2 * (readers + waiting) {
		_, _, err := queues.arrive(by(t.Context(), i, 10, 0, 0, 1))
		if refused := errors.As(err, new(*evaluation.BusyError)); refused != (i >= readers+waiting) {
			t.Errorf("arrive() of call %d: error = %v", i, err)
		}
	}
	if _, _, err := queues.arrive(by(t.Context(), 100, 10, 0, 0, 2)); err != nil {
		t.Errorf("arrive() of another peer's call: %v", err)
	}
}

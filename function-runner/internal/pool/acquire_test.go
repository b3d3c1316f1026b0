// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"testing"

	"github.com/krmfn/krmfn/function-runner/internal/podname"
)

// A caller may leave at the moment when it gets its lease.
func TestLeaseOfACallerThatHasGoneIsReleased(t *testing.T) {
	t.Parallel()
	config := Config{MaxPods: 1, Waitlist: 1, PerPod: 1, MaxWaiting: 10}
	for range 200 {
		p := New(podname.Identity{}, config, func(*Pod) {})
		ctx, cancel := context.WithCancel(t.Context())
		waiting, left := p.Demand(), make(chan *Lease)
		go func() {
			lease, _ := p.Acquire(ctx)
			left <- lease
		}()
		<-waiting
		p.mu.Lock()
		cancel()
		// The context has ended, but the caller cannot leave the queue before dispatch sends the answer.
		p.pods[0].status.State = "ready"
		p.dispatch()
		p.mu.Unlock()
		if lease := <-left; lease != nil {
			lease.Release()
		}
		if s := p.Stats(); s.Running > 0 {
			t.Fatalf("Stats().Running = %d after the caller has left, want 0", s.Running)
		}
	}
}

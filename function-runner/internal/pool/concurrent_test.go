// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/function-runner/internal/podname"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

// Many goroutines acquire leases, change pods and run upkeep concurrently. In the end, every call has had a lease, and no call is left.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := pool.Config{MaxPods: 4, Waitlist: 1, PerPod: 2, MaxWaiting: 1000, TTL: time.Minute}
		var work sync.WaitGroup
		var p *pool.Pool
		p = pool.New(podname.Identity{}, c, func(pod *pool.Pod) {
			work.Go(func() {
				time.Sleep(time.Millisecond)
				p.Answered(pod, nil)
			})
		})
		for range 50 {
			work.Go(func() {
				for i := range 20 {
					lease, err := p.Acquire(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					lease.Report(i)
					time.Sleep(time.Millisecond)
					work.Go(func() { lease.Report(i) })
					lease.Release()
				}
			})
		}
		work.Go(func() {
			for i := range 100 {
				pod := p.Adopt(i%4 + 1)
				p.Apply(pod, lifecycle.Lost, nil)
				time.Sleep(time.Millisecond)
				p.Answered(pod, nil)
				for _, i := range p.Spare(never) {
					if p.Expire(i.Pod) {
						p.Apply(i.Pod, lifecycle.Kept, nil)
					}
				}
				p.Fill()
				p.Uses()
			}
		})
		work.Wait()
		s := p.Stats()
		if diff := cmp.Diff(pool.Stats{Ready: s.Ready}, s); diff != "" || s.Ready < 4 {
			t.Errorf("Stats() at the end = %+v, want only ready pods", s)
		}
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

// Calls, pods and upkeep come from many goroutines at once. In the end every call has had its place, and nothing is left of them.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := pool.Config{MaxPods: 4, Waitlist: 1, PerPod: 2, MaxWaiting: 1000, TTL: time.Minute}
		var work sync.WaitGroup
		var p *pool.Pool[int]
		p = pool.New[int](c, func(slot int) {
			work.Go(func() {
				time.Sleep(time.Millisecond)
				p.Ready(slot, slot)
			})
		})
		for range 50 {
			work.Go(func() {
				for i := range 20 {
					place, err := p.Acquire(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					place.Report(i)
					time.Sleep(time.Millisecond)
					work.Go(func() { place.Report(i) })
					place.Release()
				}
			})
		}
		work.Go(func() {
			for i := range 100 {
				slot := i%4 + 1
				p.Unreachable(slot)
				time.Sleep(time.Millisecond)
				p.Ready(slot, slot)
				for _, i := range p.Spare(never) {
					if p.GiveUp(i.Slot) {
						p.Keep(i.Slot)
					}
				}
				p.Fill()
				p.Uses()
			}
		})
		work.Wait()
		s := p.Stats()
		if diff := cmp.Diff(pool.Stats{Ready: s.Ready}, s); diff != "" || s.Ready < 4 {
			t.Errorf("in the end there is %+v", s)
		}
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podevaluator_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
)

// Calls of several replicas that together exceed a pod's capacity wait until the pod has capacity, and all succeed.
func TestCallsWaitForABusyPod(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		runners := []*runner{start(t, c), start(t, c), start(t, c)}
		pod := runners[0].mustCall()
		for _, r := range runners {
			r.mustCall()
		}
		w := c.Wrapper(pod)
		w.Limit(5)
		w.Handle(func(_ context.Context, list []byte) (*response, error) {
			time.Sleep(10 * time.Second)
			return &response{ResourceList: list}, nil
		})
		begin := time.Now()
		var calls sync.WaitGroup
		for _, r := range runners {
			for range 8 {
				calls.Go(func() {
					if _, err := r.call(); err != nil {
						t.Errorf("call after %v = %v, want nil", time.Since(begin), err)
					}
				})
			}
		}
		calls.Wait()
		synctest.Wait()
		// 24 calls of 10 s, 5 at once.
		if took := time.Since(begin); took > 60*time.Second {
			t.Errorf("all calls took %v, want slightly more than 50 s", took)
		}
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/podname"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

// wrappers simulates the wrapper servers of pods, which count the calls of all replicas.
type wrappers struct {
	mu             sync.Mutex
	running, calls []int
	// most is the maximum number of concurrent calls in one pod, without the first known calls.
	most int
}

// known is the number of calls after which all replicas know a pod's load.
const known = 40

// begin and end count a call, and return the load that the pod's wrapper server reports.
func (w *wrappers) begin(ordinal int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[ordinal-1]++
	w.running[ordinal-1]++
	if w.calls[ordinal-1] > known {
		w.most = max(w.most, w.running[ordinal-1])
	}
	return w.running[ordinal-1]
}

func (w *wrappers) end(ordinal int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[ordinal-1]--
	return w.running[ordinal-1] + 1
}

// Replicas that know each other's calls only from the reports of the pods balance their calls.
func TestReplicasShareLoad(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ replicas, callers, pods, perPod int }{
		{3, 8, 4, 8}, {10, 2, 4, 8}, {12, 3, 4, 16}, {2, 6, 3, 4}, {20, 1, 4, 8},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &wrappers{running: make([]int, test.pods), calls: make([]int, test.pods)}
				var work sync.WaitGroup
				for r := range test.replicas {
					p := pool.New(podname.Identity{}, pool.Config{MaxPods: test.pods, Waitlist: 1, PerPod: test.perPod, MaxWaiting: 100, TTL: time.Minute}, func(*pool.Pod) {})
					for ordinal := range test.pods {
						p.Answered(p.Adopt(ordinal+1), nil)
					}
					for c := range test.callers {
						random := rand.New(rand.NewPCG(uint64(r), uint64(c)))
						work.Go(func() { callRepeatedly(t, p, w, random) })
					}
				}
				work.Wait()
				if fewest, most := slices.Min(w.calls), slices.Max(w.calls); most > 2*fewest {
					t.Errorf("calls by pod: %v, want at most a factor of two", w.calls)
				}
				if even := test.replicas * test.callers / test.pods; w.most > 5*even/2 {
					t.Errorf("concurrent calls in one pod = %d, want at most 2.5 times the average of %d", w.most, even)
				}
			})
		})
	}
}

// callRepeatedly makes 100 calls of about 50 ms, with short pauses.
func callRepeatedly(t *testing.T, p *pool.Pool, w *wrappers, random *rand.Rand) {
	t.Helper()
	pause := func(upTo time.Duration) { time.Sleep(time.Duration(random.Int64N(int64(upTo)))) }
	for range 100 {
		pause(20 * time.Millisecond)
		lease, err := p.Acquire(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		time.Sleep(100 * time.Microsecond)
		lease.Report(w.begin(lease.Pod.Ordinal))
		pause(100 * time.Millisecond)
		lease.Report(w.end(lease.Pod.Ordinal))
		lease.Release()
	}
}

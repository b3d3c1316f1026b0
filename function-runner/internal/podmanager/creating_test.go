// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
)

// slowCreates counts create requests, and answers them when gate is closed.
type slowCreates struct {
	Pods

	gate chan struct{}
	sent atomic.Int64
}

func (s *slowCreates) Create(ctx context.Context, pod *corev1.Pod, o metav1.CreateOptions) (*corev1.Pod, error) {
	s.sent.Add(1)
	select {
	case <-s.gate:
		return s.Pods.Create(ctx, pod, o)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// IsWatchListSemanticsUnSupported makes informers begin with a list request.
func (*slowCreates) IsWatchListSemanticsUnSupported() bool { return true }

// A request to create a pod that waits for other requests is not sent if another replica creates the pod meanwhile.
func TestWaitingRequestIsDropped(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		slow := &slowCreates{gate: make(chan struct{})}
		a := start(t, c, func(config *Config) {
			slow.Pods = config.Client.Pods
			config.Client.Pods = slow
		})
		b := start(t, c)
		var calls []<-chan answer
		for i := range maxCreating + 2 {
			calls = append(calls, a.begin(numbered(i), digest("a")))
		}
		if n := slow.sent.Load(); n != maxCreating {
			t.Errorf("requests in flight = %d, want %d", n, maxCreating)
		}
		if _, err := b.callWithin(t.Context(), numbered(maxCreating), digest("a")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		close(slow.gate)
		for i, call := range calls {
			if got := <-call; got.err != nil {
				t.Errorf("call of function %d = %v, want nil", i, got.err)
			}
		}
		if n := slow.sent.Load(); n != maxCreating+1 {
			t.Errorf("requests = %d, want %d", n, maxCreating+1)
		}
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podevaluator_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// A call that a draining pod rejects runs once, on another pod.
func TestRefusedCallRunsElsewhere(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		before := r.mustCall()
		c.DelayWatches(true)
		c.Hold(true)
		if err := c.Client.CoreV1().Pods(simulation.Namespace).Delete(t.Context(), before, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		// The pod rejects calls before the watch shows its deletion to this replica.
		w := c.Wrapper(before)
		w.Refuse(true, false)
		calls := w.Calls()
		after := make(chan string, 1)
		go func() { after <- r.mustCall() }()
		synctest.Wait()
		c.DelayWatches(false)
		got := <-after
		if got == before || w.Calls() != calls || c.Wrapper(got).Calls() != 1 {
			t.Errorf("the call ran on %s, and %d times on the draining pod %s, want only another pod", got, w.Calls()-calls, before)
		}
	})
}

// If a second pod is ready, a rejected call does not wait.
func TestRefusedCallTakesTheOtherPod(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c, func(p *pool.Config) { p.MaxPods, p.MinPods = 2, 2 })
		r.mustCall()
		refusing := c.Pods()[0].Name
		c.Wrapper(refusing).Refuse(true, false)
		begin := time.Now()
		if got := r.mustCall(); got == refusing || time.Since(begin) > 100*time.Millisecond {
			t.Errorf("pod %s has run the call after %v, want another pod than %s within 100 ms", got, time.Since(begin), refusing)
		}
	})
}

// The number of attempts is limited if a pod reports SERVING but rejects each call.
func TestRefusedForEver(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		c.Wrapper(r.mustCall()).Refuse(true, true)
		if _, err := r.call(); !errors.As(err, new(*endpoint.NotRunError)) {
			t.Errorf("call error = %v, want a NotRunError", err)
		}
	})
}

// A busy pod is not lost: the call is retried on it, and no other pod is created.
func TestNoRoomInThePod(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		pod := r.mustCall()
		w := c.Wrapper(pod)
		w.Limit(1)
		w.Handle(func(_ context.Context, list []byte) (*response, error) {
			time.Sleep(10 * time.Millisecond)
			return &response{ResourceList: list, Evaluation: &evaluationv1.Evaluation{}}, nil
		})
		first := make(chan error, 1)
		go func() {
			_, err := r.call()
			first <- err
		}()
		synctest.Wait()
		begin := time.Now()
		if got := r.mustCall(); got != pod || time.Since(begin) > 100*time.Millisecond {
			t.Errorf("pod %s has run the call after %v, want %s", got, time.Since(begin), pod)
		}
		if err := <-first; err != nil {
			t.Error(err)
		}
		if n := c.Requests("create", "pods"); n != 1 {
			t.Errorf("pods created = %d, want 1", n)
		}
	})
}

// A call whose connection breaks while it runs fails, and is not retried.
func TestConnectionBreaks(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c, func(p *pool.Config) { p.MaxPods, p.MinPods = 2, 2 })
		r.mustCall()
		total := -1
		for _, pod := range c.Pods() {
			w := c.Wrapper(pod.Name)
			w.Handle(func(ctx context.Context, _ []byte) (*response, error) {
				time.AfterFunc(time.Second, w.Kill)
				<-ctx.Done()
				return nil, context.Cause(ctx)
			})
		}
		if _, err := r.call(); !errors.As(err, new(*endpoint.LostError)) {
			t.Errorf("call error = %v, want a LostError", err)
		}
		for _, pod := range c.Pods() {
			total += c.Wrapper(pod.Name).Calls()
		}
		if total != 1 {
			t.Errorf("the call ran %d times, want once", total)
		}
	})
}

// The call that detects that image volumes do not work succeeds.
func TestImageVolumesDoNotWork(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		c.RefuseImageVolumes()
		r := start(t, c)
		r.mustCall()
		if n := c.Requests("create", "pods"); n != 2 {
			t.Errorf("pods created = %d, want 2", n)
		}
	})
}

// A deadline error names the limit, how long each phase took, and what the call was waiting for.
func TestTimeIsOver(t *testing.T) {
	t.Parallel()
	forever := func(ctx context.Context, _ []byte) (*response, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	for name, tc := range map[string]struct {
		prepare func(*runner, *simulation.Cluster)
		maxTime time.Duration
		want    []string
	}{
		"registry": {
			prepare: func(r *runner, _ *simulation.Cluster) { r.images.set(make(chan struct{}), nil) },
			want:    []string{"deadline exceeded after 10s (asking the registry 10s, waiting for a pod 0s, running the function 0s): the registry has not answered"},
		},
		"pod": {
			prepare: func(_ *runner, c *simulation.Cluster) { c.Kubelet(func(string) {}) },
			want:    []string{"asking the registry 0s, waiting for a pod 10s", "waits for a node"},
		},
		"function": {
			prepare: func(r *runner, c *simulation.Cluster) { c.Wrapper(r.mustCall()).Handle(forever) },
			want:    []string{"running the function 10s", "runs the function"},
		},
		"own limit": {
			prepare: func(r *runner, c *simulation.Cluster) { c.Wrapper(r.mustCall()).Handle(forever) },
			maxTime: 3 * time.Second,
			want:    []string{"the maximum evaluation time of 3s is over after 3s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *simulation.Cluster) {
				r := start(t, c)
				tc.prepare(r, c)
				r.maxTime = tc.maxTime
				_, err := r.callWithin(10 * time.Second)
				for _, want := range tc.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("call error = %v, want it to contain %q", err, want)
					}
				}
				var over *evaluation.TimeoutError
				if got := errors.As(err, &over); got != (tc.maxTime > 0) || !got && !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), " after ") {
					t.Errorf("call error = %v, want a TimeoutError: %v, or DeadlineExceeded, with durations", err, tc.maxTime > 0)
				}
			})
		})
	}
}

// A call on a ready pod sends no request to the API server.
func TestWarmCalls(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		a, b := start(t, c), start(t, c)
		pod := a.mustCall()
		before := c.Requests("", "")
		for range 50 {
			if got := b.mustCall(); got != pod {
				t.Errorf("pod %s has run a call of the other replica, want %s", got, pod)
			}
			a.mustCall()
		}
		if n := c.Requests("", "") - before; n > 0 {
			t.Errorf("requests to the API server = %d, want 0", n)
		}
		resp, err := a.call()
		if err != nil || resp.Report.GetImage() != "r.io/fn:v1" || !strings.HasPrefix(resp.Report.GetDigest(), "sha256:") {
			t.Errorf("report = %v, error %v, want image and digest", resp.Report, err)
		}
	})
}

// A call that cannot succeed fails without waiting.
func TestRefusals(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c, func(p *pool.Config) { p.MaxWaiting = 0 })
		if _, err := r.Evaluate(t.Context(), evaluation.Request{}); !errors.As(err, new(*evaluation.NotFoundError)) {
			t.Errorf("Evaluate() without an image = %v, want a NotFoundError", err)
		}
		if _, err := r.Evaluate(t.Context(), evaluation.Request{Image: "a b"}); !errors.As(err, new(*evaluation.StartError)) {
			t.Errorf("Evaluate() of an invalid reference = %v, want a StartError", err)
		}
		if _, err := r.call(); !errors.As(err, new(*evaluation.BusyError)) {
			t.Errorf("call with MaxWaiting = 0: error = %v, want a BusyError", err)
		}
		r.images.set(nil, errors.New("no such tag"))
		if _, err := r.call(); !errors.As(err, new(*evaluation.StartError)) || !strings.Contains(err.Error(), "no such tag") {
			t.Errorf("call of a missing tag: error = %v, want a StartError with the reason", err)
		}
	})
}

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

// A pod that refuses because it drains has the call run on another, once.
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
		// The pod knows first, and this replica by the refusal only.
		w := c.Wrapper(before)
		w.Refuse(true, false)
		calls := w.Calls()
		after := make(chan string, 1)
		go func() { after <- r.mustCall() }()
		synctest.Wait()
		c.DelayWatches(false)
		got := <-after
		if got == before || w.Calls() != calls || c.Wrapper(got).Calls() != 1 {
			t.Errorf("the call ran on %s, %d times on the one that drains", got, w.Calls()-calls)
		}
	})
}

// With two pods no time is lost.
func TestRefusedCallTakesTheOtherPod(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c, func(p *pool.Config) { p.MaxPods, p.MinPods = 2, 2 })
		r.mustCall()
		refusing := c.Pods()[0].Name
		c.Wrapper(refusing).Refuse(true, false)
		begin := time.Now()
		if got := r.mustCall(); got == refusing || time.Since(begin) > 100*time.Millisecond {
			t.Errorf("pod %s has run the call after %v", got, time.Since(begin))
		}
	})
}

// A pod that refuses for ever and says that it serves is not asked for ever.
func TestRefusedForEver(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		c.Wrapper(r.mustCall()).Refuse(true, true)
		if _, err := r.call(); !errors.As(err, new(*endpoint.NotRunError)) {
			t.Errorf("got error %v", err)
		}
	})
}

// A pod that has no room is no lost pod: the call is sent again after a moment, and no other pod is made.
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
			t.Errorf("%d pods were made", n)
		}
	})
}

// A call whose connection breaks while it runs is told of, and not sent again.
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
			t.Errorf("got error %v", err)
		}
		for _, pod := range c.Pods() {
			total += c.Wrapper(pod.Name).Calls()
		}
		if total != 1 {
			t.Errorf("the call ran %d times", total)
		}
	})
}

// Where image volumes do not work, the very call that finds out succeeds.
func TestImageVolumesDoNotWork(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		c.RefuseImageVolumes()
		r := start(t, c)
		r.mustCall()
		if n := c.Requests("create", "pods"); n != 2 {
			t.Errorf("%d pods were made", n)
		}
	})
}

// The end of a call's time says which limit it was, what the time was spent on and what was waited for.
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
						t.Errorf("got error %v, want %q in it", err, want)
					}
				}
				var over *evaluation.TimeoutError
				if got := errors.As(err, &over); got != (tc.maxTime > 0) || !got && !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), " after ") {
					t.Errorf("got error %v", err)
				}
			})
		})
	}
}

// A call on a ready pod asks neither the API server nor more of the registry than its cache.
func TestWarmCalls(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		a, b := start(t, c), start(t, c)
		pod := a.mustCall()
		before := c.Requests("", "")
		for range 50 {
			if got := b.mustCall(); got != pod {
				t.Errorf("pod %s has run a call of the other replica", got)
			}
			a.mustCall()
		}
		if n := c.Requests("", "") - before; n > 0 {
			t.Errorf("the API server had %d requests", n)
		}
		resp, err := a.call()
		if err != nil || resp.Report.GetImage() != "r.io/fn:v1" || !strings.HasPrefix(resp.Report.GetDigest(), "sha256:") {
			t.Errorf("report %v, error %v", resp.Report, err)
		}
	})
}

// What cannot be had at all is not waited for.
func TestRefusals(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c, func(p *pool.Config) { p.MaxWaiting = 0 })
		if _, err := r.Evaluate(t.Context(), evaluation.Request{}); !errors.As(err, new(*evaluation.NotFoundError)) {
			t.Errorf("no image: %v", err)
		}
		if _, err := r.Evaluate(t.Context(), evaluation.Request{Image: "a b"}); !errors.As(err, new(*evaluation.StartError)) {
			t.Errorf("no reference: %v", err)
		}
		if _, err := r.call(); !errors.As(err, new(*evaluation.BusyError)) {
			t.Errorf("nobody may wait: %v", err)
		}
		r.images.set(nil, errors.New("no such tag"))
		if _, err := r.call(); !errors.As(err, new(*evaluation.StartError)) || !strings.Contains(err.Error(), "no such tag") {
			t.Errorf("no tag: %v", err)
		}
	})
}

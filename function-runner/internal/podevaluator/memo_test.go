// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podevaluator_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/metric/noop"

	"github.com/krmfn/krmfn/function-runner/internal/memo"
	"github.com/krmfn/krmfn/function-runner/internal/podevaluator"
	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// remembers enables the result cache, and declares the functions with the given digests deterministic.
func remembers(t *testing.T, digests ...string) func(*podevaluator.Config) {
	t.Helper()
	answers, err := memo.New(1<<20, noop.Meter{})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *podevaluator.Config) {
		c.Memo = answers
		c.Deterministic = func(_, digest string) (deterministic, known bool) {
			return strings.Contains(strings.Join(digests, " "), digest), true
		}
	}
}

func digest(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }

// wants makes a call and checks whether its result is cached, and the number of calls that all pods have run so far.
func (r *runner) wants(c *simulation.Cluster, calls int, cached bool) evaluation.Response {
	r.t.Helper()
	resp, err := r.call()
	synctest.Wait()
	ran := 0
	for _, pod := range c.Pods() {
		ran += c.Wrapper(pod.Name).Calls()
	}
	if err != nil || string(resp.ResourceList) != "list" || ran != calls || resp.Report.GetCached() != cached {
		r.t.Errorf("output = %q, report %v (%v) after %d runs, want %d runs, cached %v", resp.ResourceList, resp.Report, err, ran, calls, cached)
	}
	return resp
}

// A deterministic function runs once for each digest and template.
func TestRemember(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := startWith(t, c, remembers(t, digest("a"), digest("b")))
		first := r.wants(c, 1, false)
		r.images.set(nil, nil)
		begin := time.Now()
		again := r.wants(c, 1, true)
		if r := again.Report; r.GetImage() != "r.io/fn:v1" || r.GetDigest() != digest("a") || r.GetImplementation() != first.Report.GetImplementation() ||
			r.GetEvaluator() != evaluationv1.Evaluator_EVALUATOR_POD || r.GetTimings().GetExecute() != nil || r.GetTimings().GetStart().AsDuration() != time.Since(begin) {
			t.Errorf("report = %v, want image, digest, implementation and timings of the cached result", r)
		}
		r.images.move(digest("b"))
		r.wants(c, 2, false)
		r.wants(c, 2, true)
		r.images.move(digest("c"))
		r.wants(c, 3, false)
		r.wants(c, 4, false)
		r.images.move(digest("a"))
		r.wants(c, 4, true)
	})
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := startWith(t, c, remembers(t, digest("a")))
		r.wants(c, 1, false)
		r.limits.Declared = map[string]string{"krmfn.dev/worker": "true"}
		r.manager.Changed()
		r.wants(c, 2, false)
		r.wants(c, 2, true)
	})
}

// If a function turns out to be deterministic during its first call, the result of that call is cached.
func TestRememberTheFirst(t *testing.T) {
	t.Parallel()
	for _, deterministic := range []bool{true, false} {
		bubble(t, func(t *testing.T, c *simulation.Cluster) {
			r := startWith(t, c, func(config *podevaluator.Config) {
				remembers(t)(config)
				// Deterministic knows the answer once there is a pod.
				config.Deterministic = func(string, string) (bool, bool) { return deterministic && c.Count() > 0, c.Count() > 0 }
			})
			r.wants(c, 1, false)
			if deterministic {
				r.wants(c, 1, true)
			} else {
				r.wants(c, 2, false)
			}
		})
	}
}

// A cached result needs no pod. Failures are not cached.
func TestRememberedNeedsNoPod(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := startWith(t, c, remembers(t, digest("a")))
		r.limits.PerPod = 1
		r.manager.Changed()
		pod := r.wants(c, 1, false).Report.GetImplementation()
		hold := make(chan struct{})
		c.Wrapper(pod).Handle(func(ctx context.Context, _ []byte) (*response, error) {
			select {
			case <-hold:
			case <-ctx.Done():
			}
			return &response{Evaluation: &evaluationv1.Evaluation{Failure: &evaluationv1.Failure{Message: "no"}}}, nil
		})
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				resp, err := r.Evaluate(ctx, evaluation.Request{Image: fn, ResourceList: []byte("another")})
				if err != nil || resp.Report.GetFailure().GetMessage() != "no" || resp.Report.GetCached() {
					t.Errorf("Evaluate() = %v, %v, want an uncached failure", resp.Report, err)
				}
			})
		}
		synctest.Wait()
		r.wants(c, 2, true)
		// The deadline error of a call that waits for the same call of another caller says so.
		_, err := r.callFor("another", time.Second)
		if err == nil || !strings.Contains(err.Error(), "another call of the function with the same ResourceList is running") {
			t.Errorf("call error = %v, want it to name the other call", err)
		}
		close(hold)
		calls.Wait()
		if n := c.Wrapper(pod).Calls(); n != 4 {
			t.Errorf("calls of the pod = %d, want 4: one success and three failures", n)
		}
	})
}

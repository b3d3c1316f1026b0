// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
)

var errWebhook = apierrors.NewInternalError(errors.New(`failed calling webhook "pods.example.org": connection refused`))

// Why the API server rejects a pod is logged once, told to who asks at once, and to the waiting callers after createPatience.
func TestReasonOfARejectedPod(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		c.Before(always("create", "pods", errWebhook))
		r := start(t, c)
		begin := time.Now()
		call := r.begin(fn, digest("a"))
		time.Sleep(time.Second)
		f := r.Pool(fn, digest("a"))
		defer f.Done()
		if got := r.Explain(f); !strings.Contains(got, "pods.example.org") {
			t.Errorf("Explain() = %q after a second, want the webhook in it", got)
		}
		if got := r.Functions(); len(got) != 1 || !errors.Is(got[0].Stats.LastFailure, errWebhook) {
			t.Errorf("Functions() = %+v, want the failure", got)
		}
		if got := <-call; !errors.Is(got.err, errWebhook) || time.Since(begin) > createPatience {
			t.Errorf("the call failed after %v: %v; want the webhook's error after %v", time.Since(begin), got.err, createPatience)
		}
		if _, err := r.call(digest("a")); !errors.Is(err, errWebhook) {
			t.Errorf("the next call: %v, want the webhook's error", err)
		}
		if n := r.log.count("pods.example.org"); n != 1 {
			t.Errorf("the webhook is in %d log lines, want 1", n)
		}
		c.Before(func(simulation.Request) error { return nil })
		time.Sleep(10 * time.Second)
		r.mustCall(digest("a"))
	})
}

// A caller whose deadline comes first learns the reason from Explain; the others wait for an API server that does not answer.
func TestCallsWaitForAnAPIServerThatIsAway(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		c.Before(always("create", "pods", errDown))
		r := start(t, c)
		call := r.begin(fn, digest("a"))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		f := r.Pool(fn, digest("a"))
		defer f.Done()
		if _, err := f.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Acquire() = %v, want that the deadline is exceeded", err)
		}
		if got := r.Explain(f); !strings.Contains(got, errDown.Error()) {
			t.Errorf("Explain() = %q, want %q in it", got, errDown)
		}
		time.Sleep(40 * time.Second)
		c.Before(func(simulation.Request) error { return nil })
		if got := <-call; got.err != nil {
			t.Errorf("a call that waited for the API server: %v", got.err)
		}
	})
}

// Two functions with a quota of one pod wait for each other, as long as their callers do.
func TestFunctionsTakeTurnsOnAQuota(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		quota(c, 1)
		c.Kubelet(func(name string) {
			time.Sleep(700 * time.Millisecond)
			c.Run(name)
		})
		a, b := start(t, c), start(t, c)
		var calls []<-chan answer
		for i := range 60 {
			calls = append(calls, []*replica{a, b}[i/2%2].begin(numbered(i%2), digest("a")))
			time.Sleep(250 * time.Millisecond)
		}
		for i, call := range calls {
			if got := <-call; got.err != nil {
				t.Errorf("call %d: %v", i, got.err)
			}
		}
	})
}

// A function waits for another one that holds the quota for longer than a pod may take to get ready.
func TestCallOutwaitsTheQuota(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		quota(c, 1)
		r := start(t, c)
		pod, err := r.callWithin(t.Context(), numbered(1), digest("a"))
		if err != nil {
			t.Fatal(err)
		}
		running, letGo := block()
		c.Wrapper(pod).Handle(running)
		first := r.begin(numbered(1), digest("a"))
		second := make(chan error, 1)
		go func() {
			var err error
			for again := true; again; again = errors.As(err, new(*ReplacedError)) {
				_, err = r.callWithin(t.Context(), numbered(2), digest("a"))
			}
			second <- err
		}()
		time.Sleep(10 * time.Minute)
		letGo()
		if got := <-first; got.err != nil {
			t.Error(got.err)
		}
		if err := <-second; err != nil {
			t.Errorf("the call that waited for the quota: %v", err)
		}
		synctest.Wait()
	})
}

// A registry that hangs shows in a container that is not created: operators learn of it long before the pod is given up.
func TestSlowStartIsTold(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		c.Kubelet(func(name string) { c.Waits(name, "ContainerCreating", "") })
		answered := r.begin(fn, digest("a"))
		const want = "on node node, container function: ContainerCreating"
		for _, wait := range []time.Duration{slowStart - time.Second, 2 * time.Second} {
			time.Sleep(wait)
			synctest.Wait()
			told, failure := r.log.count(want) > 0, r.Functions()[0].Stats.LastFailure
			if slow := wait < slowStart/2; told != slow || (failure != nil && strings.Contains(failure.Error(), want)) != slow {
				t.Errorf("the log has the status: %v, the function's last failure is %v, want both: %v", told, failure, slow)
			}
		}
		for _, pod := range c.Pods() {
			c.Run(pod.Name)
		}
		if a := <-answered; a.err != nil {
			t.Error(a.err)
		}
		if failure := r.Functions()[0].Stats.LastFailure; failure != nil {
			t.Errorf("a ready function has the failure %v", failure)
		}
	})
}

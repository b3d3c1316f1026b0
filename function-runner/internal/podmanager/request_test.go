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

// The reason why the API server rejects a pod is logged once, reported by Explain and Functions at once, and returned to the waiting
// callers after createPatience.
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
			t.Errorf("Explain() = %q after a second, want it to contain the webhook", got)
		}
		if got := r.Functions(); len(got) != 1 || !errors.Is(got[0].Stats.LastFailure, errWebhook) {
			t.Errorf("Functions() = %+v, want the failure", got)
		}
		if got := <-call; !errors.Is(got.err, errWebhook) || time.Since(begin) > createPatience {
			t.Errorf("call error after %v = %v, want the webhook's error within %v", time.Since(begin), got.err, createPatience)
		}
		if _, err := r.call(digest("a")); !errors.Is(err, errWebhook) {
			t.Errorf("error of the next call = %v, want the webhook's error", err)
		}
		if n := r.log.count("pods.example.org"); n != 1 {
			t.Errorf("log lines with the webhook = %d, want 1", n)
		}
		c.Before(func(simulation.Request) error { return nil })
		time.Sleep(10 * time.Second)
		r.mustCall(digest("a"))
	})
}

// Explain gives the reason to a caller whose deadline ends first. The other callers wait for an API server that does not respond.
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
			t.Errorf("Acquire() = %v, want DeadlineExceeded", err)
		}
		if got := r.Explain(f); !strings.Contains(got, errDown.Error()) {
			t.Errorf("Explain() = %q, want it to contain %q", got, errDown)
		}
		time.Sleep(40 * time.Second)
		c.Before(func(simulation.Request) error { return nil })
		if got := <-call; got.err != nil {
			t.Errorf("call that waited for the API server = %v, want nil", got.err)
		}
	})
}

// Two functions that share a quota of one pod take turns while their callers wait.
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
				t.Errorf("call %d = %v, want nil", i, got.err)
			}
		}
	})
}

// A call waits while another function holds the quota for longer than ReadyTimeout.
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
			t.Errorf("call that waited for the quota = %v, want nil", err)
		}
		synctest.Wait()
	})
}

// If a registry hangs, the log and Functions report the container that is not created, long before the pod's ready timeout.
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
				t.Errorf("status in the log: %v, LastFailure = %v, want both: %v", told, failure, slow)
			}
		}
		for _, pod := range c.Pods() {
			c.Run(pod.Name)
		}
		if a := <-answered; a.err != nil {
			t.Error(a.err)
		}
		if failure := r.Functions()[0].Stats.LastFailure; failure != nil {
			t.Errorf("LastFailure of a ready function = %v, want nil", failure)
		}
	})
}

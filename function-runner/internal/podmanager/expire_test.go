// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
)

func TestExpiry(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		pod := r.mustCall(digest("a"))
		time.Sleep(ttl - time.Second)
		r.rescan()
		wantPods(t, c, pod)
		time.Sleep(2 * time.Second)
		r.rescan()
		wantPods(t, c)
		if len(c.Services()) > 0 {
			t.Error("the Service still exists")
		}
		if r.log.count("reason=idle") != 1 {
			t.Error("reason=idle is not logged exactly once")
		}
		// A busy pod does not expire.
		r.mustCall(digest("a"))
		running, letGo := block()
		busy := names(c)[0]
		c.Wrapper(busy).Handle(running)
		call := r.begin(fn, digest("a"))
		time.Sleep(ttl + time.Hour)
		r.rescan()
		wantPods(t, c, busy)
		letGo()
		if got := <-call; got.err != nil {
			t.Error(got.err)
		}
	})
}

// Expiry keeps a pod whose resource version has changed since this replica saw it, because another replica may use it.
func TestExpiryKeepsWhatHasChanged(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		pod := r.mustCall(digest("a"))
		time.Sleep(ttl + time.Second)
		c.DelayWatches(true)
		c.Change(pod, func(p *corev1.Pod) { annotated(p, functionpod.LastUseAnnotation, time.Now().Format(time.RFC3339)) })
		r.rescan()
		wantPods(t, c, pod)
		wantStats(t, r, digest("a"), pool.Stats{Ready: 1})
		r.mustCall(digest("a"))
		c.DelayWatches(false)
		time.Sleep(ttl + time.Second)
		r.rescan()
		wantPods(t, c)
	})
}

// A failed delete request is retried by a later scan. The pod serves until then.
func TestExpiryFails(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		pod := r.mustCall(digest("a"))
		time.Sleep(ttl + time.Second)
		c.Before(first(1, "delete", "pods", apierrors.NewInternalError(errors.New("etcd"))))
		r.rescan()
		r.mustCall(digest("a"))
		wantPods(t, c, pod)
		time.Sleep(ttl + time.Second)
		r.rescan()
		wantPods(t, c)
	})
}

// Uses are recorded seldom, and keep other replicas from deleting the pod.
func TestLastUse(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		a, b := start(t, c), start(t, c)
		pod := a.mustCall(digest("a"))
		const hours = 10
		for range hours * 60 {
			a.mustCall(digest("a"))
			time.Sleep(time.Minute)
			a.rescan()
			b.rescan()
		}
		wantPods(t, c, pod)
		if n, most := c.Requests("patch", "pods"), int(hours*time.Hour/ttl)*patchesPerTTL; n == 0 || n > most {
			t.Errorf("patches = %d within %d hours, want 1 to %d", n, hours, most)
		}
		// Uses of an idle pod are not recorded.
		patches := c.Requests("patch", "pods")
		for range 20 {
			time.Sleep(time.Minute)
			a.rescan()
			b.rescan()
		}
		if n := c.Requests("patch", "pods") - patches; n > 1 {
			t.Errorf("patches of an idle pod = %d, want at most 1", n)
		}
		time.Sleep(ttl)
		b.rescan()
		wantPods(t, c)
	})
}

// A use that another replica has recorded since the scan began is not recorded again.
func TestLastUseIsNotedOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		a, b := start(t, c), start(t, c)
		a.mustCall(digest("a"))
		time.Sleep(ttl / 2)
		a.mustCall(digest("a"))
		b.mustCall(digest("a"))
		requests := b.workloads[b.poolOf(fn, digest("a"))].upkeep(false)
		a.rescan()
		for _, request := range requests {
			if err := request(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if n := c.Requests("patch", "pods"); n != 1 {
			t.Errorf("patches = %d, want 1 by one replica", n)
		}
	})
}

// An unused pod that the pool keeps is recorded as used, because the pod janitor would delete it otherwise. A changed TTL is recorded,
// and the pod still expires.
func TestKeptPodsAreNoted(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		r.limit(func(l *Limits) { l.MinPods = 1 })
		r.mustCall(digest("a"))
		const ttls = 10
		longest := time.Duration(0)
		for range int(ttls*ttl/time.Minute) + 1 {
			time.Sleep(time.Minute)
			r.rescan()
			longest = max(longest, time.Since(lastUse(c.Pods()[0])))
		}
		if longest > ttl+time.Minute {
			t.Errorf("age of the recorded last use = %v, want at most %v plus a scan interval", longest, ttl)
		}
		if n := c.Requests("patch", "pods"); n > ttls {
			t.Errorf("patches = %d within %d TTLs, want at most one per TTL", n, ttls)
		}
		r.limit(func(l *Limits) { l.MinPods, l.TTL = 0, 3*ttl })
		time.Sleep(ttl + time.Minute)
		r.rescan()
		if got := notedTTL(c.Pods()[0], 0); got != 3*ttl {
			t.Errorf("recorded TTL = %v, want %v", got, 3*ttl)
		}
		for range int(3*ttl/time.Minute) + 2 {
			time.Sleep(time.Minute)
			r.rescan()
		}
		wantPods(t, c)
	})
}

// The pool keeps the minimum number of pods, even if pods are deleted, and no idle pods above it.
func TestMinimum(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		r.limit(func(l *Limits) { l.MaxPods, l.MinPods = 3, 2 })
		r.mustCall(digest("a"))
		wantStats(t, r, digest("a"), pool.Stats{Ready: 2})
		time.Sleep(ttl + time.Second)
		r.rescan()
		wantStats(t, r, digest("a"), pool.Stats{Ready: 2})
		for _, pod := range names(c) {
			if err := c.Client.CoreV1().Pods(simulation.Namespace).Delete(t.Context(), pod, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		wantStats(t, r, digest("a"), pool.Stats{Ready: 2})
		r.limit(func(l *Limits) { l.MinPods = 1 })
		time.Sleep(ttl + time.Second)
		r.rescan()
		wantStats(t, r, digest("a"), pool.Stats{Ready: 1})
	})
}

// Pods that never start are not created repeatedly to reach the minimum. Each scan makes one attempt.
func TestMinimumOfPodsThatFail(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		c.Kubelet(func(name string) {
			time.Sleep(time.Second)
			c.Waits(name, "ErrImagePull", "not found")
		})
		r := start(t, c)
		r.limit(func(l *Limits) { l.MinPods = 1 })
		r.Pool(fn, digest("a")).Done()
		time.Sleep(time.Hour)
		if n := c.Requests("create", "pods"); n != 1 {
			t.Errorf("pods created within the hour = %d, want 1", n)
		}
		f := r.Pool(fn, digest("a"))
		defer f.Done()
		r.rescan()
		time.Sleep(time.Minute)
		if n := c.Requests("create", "pods"); n != 2 {
			t.Errorf("pods created after the next scan = %d, want 2", n)
		}
	})
}

// A failed pod whose deletion fails is deleted by a later scan. Its failure is logged once.
func TestFailedPodIsDeletedLater(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		c.Kubelet(func(name string) { c.Waits(name, "ErrImagePull", "not found") })
		c.Before(first(2, "delete", "pods", errDown))
		r := start(t, c)
		if _, err := r.call(digest("a")); err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("call error = %v, want it to contain \"not found\"", err)
		}
		synctest.Wait()
		pod := names(c)
		c.Waits(pod[0], "ImagePullBackOff", "back-off")
		r.rescan()
		wantPods(t, c, pod...)
		r.rescan()
		wantPods(t, c)
		if n := r.log.count("function pod failed"); n != 1 {
			t.Errorf("the failure was logged %d times, want once", n)
		}
		// The pool remembers the failure while it backs off.
		r.rescan()
		if len(r.workloads) != 1 {
			t.Errorf("known pools = %d, want the pool that backs off", len(r.workloads))
		}
		time.Sleep(2 * time.Second)
		r.rescan()
		if len(r.workloads)+len(r.current) > 0 {
			t.Errorf("known pools = %d, want 0", len(r.workloads))
		}
	})
}

// The manager forgets pools without pods, except those in use.
func TestForgetUnused(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		held := r.Pool("r.io/held", digest("b"))
		r.mustCall(digest("a"))
		c.Kubelet(func(string) {})
		starting := r.begin("r.io/starting", digest("c"))
		time.Sleep(time.Second)
		r.rescan()
		if len(r.workloads) != 3 {
			t.Errorf("known pools = %d, want 3", len(r.workloads))
		}
		<-starting // the ready timeout
		time.Sleep(ttl)
		r.rescan()
		r.rescan()
		if len(r.workloads) != 1 || r.workloads[held.ID].Pool != held || r.Pool("r.io/held", digest("b")) != held {
			t.Errorf("known pools = %d, want the pool in use", len(r.workloads))
		}
		held.Done()
		held.Done()
		r.rescan()
		if len(r.workloads)+len(r.current) > 0 {
			t.Errorf("known pools = %d, want 0", len(r.workloads))
		}
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
)

// moveTo moves a pod to another address, like a restarted node. Connections to the old address fail only after the change.
func moveTo(t *testing.T, c *simulation.Cluster, pod, ip string, ready corev1.ConditionStatus) {
	t.Helper()
	old := c.Wrapper(pod)
	moved := &simulation.Wrapper{IP: ip, Target: old.Target}
	moved.Start(c)
	t.Cleanup(moved.Kill)
	c.Change(pod, func(p *corev1.Pod) {
		p.Status.PodIP = ip
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	})
	synctest.Wait()
	old.Kill()
}

// A pod whose address changes gets calls at the new address, whether or not the watch shows that it was unready meanwhile.
func TestPodWithANewAddressTakesCalls(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pods  int
		idle  time.Duration
		ready corev1.ConditionStatus
	}{
		"ready":                     {1, 0, corev1.ConditionTrue},
		"ready, idle for a while":   {1, 5 * time.Minute, corev1.ConditionTrue},
		"unready":                   {1, 0, corev1.ConditionFalse},
		"unready, idle for a while": {1, 5 * time.Minute, corev1.ConditionFalse},
		"one of three":              {3, 0, corev1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *simulation.Cluster) {
				r := start(t, c)
				r.limit(func(l *Limits) { l.MaxPods, l.MinPods = test.pods, test.pods })
				pod := r.mustCall(digest("a"))
				r.rescan()
				time.Sleep(test.idle)
				moveTo(t, c, pod, "10.9.9.9", test.ready)
				begin := time.Now()
				for range 10 {
					if got := r.mustCall(digest("a")); got != pod && test.pods == 1 {
						t.Errorf("pod %s has run a call, want %s", got, pod)
					}
					time.Sleep(time.Minute)
				}
				if took := time.Since(begin); took > 11*time.Minute {
					t.Errorf("10 calls with pauses of a minute took %v, want at most 11m", took)
				}
			})
		})
	}
}

// A replica does not connect to a terminating pod.
func TestNoConnectionsToALeavingPod(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		pod := r.mustCall(digest("a"))
		c.Hold(true)
		r.deletePodByHand(pod)
		c.Wrapper(pod).Kill()
		before := c.Dials()
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := c.Dials() - before; n > 0 {
			t.Errorf("connections to a terminating pod = %d, want 0", n)
		}
		c.Hold(false)
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

// slowNode starts one pod at a time. Each start takes a second.
func slowNode(c *simulation.Cluster) {
	node := make(chan struct{}, 1)
	c.Kubelet(func(name string) {
		node <- struct{}{}
		defer func() { <-node }()
		time.Sleep(time.Second)
		c.Run(name)
	})
}

// A node that takes far longer than ReadyTimeout to start all requested pods starts them gradually, and each pod is created once.
func TestWarmUpsKeepPace(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		const functions, each = 20, 5
		slowNode(c)
		r := start(t, c, func(config *Config) { config.ReadyTimeout = 20 * time.Second })
		r.limit(func(l *Limits) { l.MaxPods, l.MinPods = each, each })
		for i := range functions {
			r.Pool(fmt.Sprintf("r.io/f%d:v1", i), digest("a")).Done()
		}
		for range 4 {
			time.Sleep(30 * time.Second)
			r.rescan()
		}
		ready := 0
		for _, pod := range c.Pods() {
			if c.Wrapper(pod.Name) != nil {
				ready++
			}
		}
		if made := c.Requests("create", "pods"); made != functions*each || ready != functions*each {
			t.Errorf("pods created = %d, ready = %d, want %d of both", made, ready, functions*each)
		}
	})
}

// A call does not wait for warm-ups, and its pod does not take a warm-up slot.
func TestCallOvertakesWarmUps(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		const others = 4
		c.Kubelet(func(name string) {
			if strings.HasPrefix(name, "fn-") {
				c.Run(name)
			}
		})
		r := start(t, c, func(config *Config) { config.MaxWarmUps = others })
		for i := range 2 * others {
			f := r.Pool(fmt.Sprintf("r.io/f%d:v1", i), digest("a"))
			f.Warm()
			f.Done()
		}
		synctest.Wait()
		if n := c.Requests("create", "pods"); n != others {
			t.Errorf("concurrent warm-ups = %d, want %d", n, others)
		}
		f := r.Pool(fn, digest("a"))
		f.Warm()
		f.Done()
		begin := time.Now()
		r.mustCall(digest("a"))
		if waited := time.Since(begin); waited > 0 {
			t.Errorf("a call waited for %v behind warm-ups, want 0", waited)
		}
	})
}

// warmOneOfTwo returns the pools of two functions that warm up with MaxWarmUps = 1. The first pool's pod is starting.
func warmOneOfTwo(t *testing.T, c *simulation.Cluster) (r *replica, first, second *pool.Pool) {
	t.Helper()
	c.Kubelet(func(string) {})
	r = start(t, c, func(config *Config) { config.MaxWarmUps = 1 })
	first, second = r.Pool("r.io/first:v1", digest("a")), r.Pool("r.io/second:v1", digest("a"))
	t.Cleanup(first.Done)
	t.Cleanup(second.Done)
	first.Warm()
	synctest.Wait()
	second.Warm()
	return r, first, second
}

// The next warm-up begins when the previous one ends, whatever its outcome.
func TestWarmUpEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(r *replica, c *simulation.Cluster, pod string){
		"ready":    func(_ *replica, c *simulation.Cluster, pod string) { c.Run(pod) },
		"failed":   func(_ *replica, c *simulation.Cluster, pod string) { c.Waits(pod, "ErrImagePull", "not found") },
		"too late": func(r *replica, _ *simulation.Cluster, _ string) { time.Sleep(r.config.ReadyTimeout) },
		"no node": func(_ *replica, c *simulation.Cluster, pod string) {
			c.Change(pod, unscheduled("0/3 nodes: untolerated taint"))
		},
		"deleted": func(r *replica, c *simulation.Cluster, pod string) {
			_ = c.Client.CoreV1().Pods(simulation.Namespace).Delete(r.t.Context(), pod, metav1.DeleteOptions{})
		},
		"succeeded": func(_ *replica, c *simulation.Cluster, pod string) {
			c.Change(pod, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *simulation.Cluster) {
				r, first, second := warmOneOfTwo(t, c)
				time.Sleep(time.Second)
				wantPods(t, c, first.ID.Of(1))
				end(r, c, first.ID.Of(1))
				time.Sleep(time.Second)
				synctest.Wait()
				if mem := r.workloads[second.ID].members[1]; mem == nil || mem.State() != lifecycle.Starting {
					t.Errorf("second pod = %+v, want it in state Starting", mem)
				}
			})
		})
	}
}

// The next warm-up also begins when the API server has rejected the previous pod.
func TestRefusedWarmUpEnds(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		c.Before(first(1, "create", "pods", apierrors.NewForbidden(podResource, "f0", errors.New("not here"))))
		r := start(t, c, func(config *Config) { config.MaxWarmUps = 1 })
		for i := range 2 {
			f := r.Pool(fmt.Sprintf("r.io/f%d:v1", i), digest("a"))
			f.Warm()
			f.Done()
			time.Sleep(time.Second)
		}
		if n := len(c.Pods()); n != 1 {
			t.Errorf("pods created after a rejected pod = %d, want 1", n)
		}
	})
}

// A pod that waits for a warm-up slot is not created if the pool no longer needs it by then.
func TestNeedlessWarmUpIsNotMade(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		min    int
		change func(r *replica, f *pool.Pool)
		want   int
	}{
		"needed still":      {3, func(*replica, *pool.Pool) {}, 3},
		"lower minimum":     {3, func(r *replica, _ *pool.Pool) { r.limit(func(l *Limits) { l.MinPods = 1 }) }, 1},
		"without a minimum": {0, func(_ *replica, f *pool.Pool) { f.Warm() }, 1},
		"another image":     {3, func(r *replica, _ *pool.Pool) { r.Pool(fn, digest("b")).Done() }, 0},
		"lower maximum and a call": {3, func(r *replica, _ *pool.Pool) {
			r.limit(func(l *Limits) { l.MinPods, l.MaxPods = 1, 1 })
			r.mustCall(digest("a"))
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *simulation.Cluster) {
				first := ""
				c.Kubelet(func(name string) {
					if first == "" {
						first = name
						return
					}
					c.Run(name)
				})
				r := start(t, c, func(config *Config) { config.MaxWarmUps = 1 })
				other := r.Pool("r.io/other:v1", digest("a"))
				other.Warm()
				synctest.Wait()
				r.limit(func(l *Limits) { l.MinPods, l.MaxPods = test.min, 3 })
				f := r.Pool(fn, digest("a"))
				defer f.Done()
				synctest.Wait()
				test.change(r, f)
				// Limits apply to all functions. The other function's pod frees the slot, and its pool must not get more pods.
				other.Done()
				c.Run(first)
				time.Sleep(time.Minute)
				synctest.Wait()
				made := 0
				for _, pod := range c.Pods() {
					if slices.ContainsFunc([]int{1, 2, 3}, func(slot int) bool { return pod.Name == f.ID.Of(slot) }) {
						made++
					}
				}
				if made != test.want {
					t.Errorf("pods created = %d, want %d", made, test.want)
				}
				if s := f.Stats(); s.Starting != 0 || s.Ready != test.want {
					t.Errorf("Stats() = %+v, want %d ready pods", s, test.want)
				}
				if n := len(r.warming); n != 0 {
					t.Errorf("warm-up slots in use = %d, want 0", n)
				}
			})
		})
	}
}

// The start duration of a pod does not include the wait for a warm-up slot.
func TestWaitForTurnIsNoStart(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r, first, second := warmOneOfTwo(t, c)
		time.Sleep(time.Minute)
		c.Run(first.ID.Of(1))
		time.Sleep(time.Second)
		c.Run(second.ID.Of(1))
		time.Sleep(time.Second)
		synctest.Wait()
		mem := r.workloads[second.ID].members[1]
		if took := mem.addressed.Sub(mem.seen); mem.State() != lifecycle.Ready || took > 2*time.Second {
			t.Errorf("pod state = %s after %v until it got an address, want ready and at most 2 s", mem.State(), took)
		}
	})
}

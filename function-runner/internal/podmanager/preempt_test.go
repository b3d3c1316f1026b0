// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
)

// scheduler lets at most places pods run. The others wait, with a message, until a pod is deleted.
func scheduler(t *testing.T, c *simulation.Cluster, places int, message string) {
	t.Helper()
	var mu sync.Mutex
	placed := map[string]bool{}
	place := func(name string) bool {
		mu.Lock()
		defer mu.Unlock()
		there := map[string]bool{}
		for _, pod := range c.Pods() {
			there[pod.Name] = placed[pod.Name]
		}
		placed = there
		used := 0
		for _, is := range placed {
			if is {
				used++
			}
		}
		if used < places {
			placed[name] = true
		}
		return placed[name]
	}
	c.Kubelet(func(name string) {
		for !place(name) {
			c.Change(name, unscheduled(message))
			time.Sleep(100 * time.Millisecond)
			if c.Gone(name) || t.Context().Err() != nil {
				return
			}
		}
		c.Run(name)
	})
}

const full = "0/1 nodes are available: 1 Insufficient cpu."

func numbered(i int) string { return fmt.Sprintf("r.io/fn%d:v1", i) }

// In a full cluster, the least recently used idle pods of other functions are preempted for a waiting call.
func TestFullClusterMakesRoom(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		const places = 10
		scheduler(t, c, places, full)
		r := start(t, c)
		for i := range 3 * places {
			if _, err := r.callWithin(t.Context(), numbered(i), digest("a")); err != nil {
				t.Fatalf("call of function %d = %v, want nil", i, err)
			}
			time.Sleep(time.Second)
		}
		want := make([]string, 0, places)
		for i := 2 * places; i < 3*places; i++ {
			want = append(want, r.poolOf(numbered(i), digest("a")).Of(1))
		}
		wantPods(t, c, want...)
		if n := c.Requests("delete", "pods"); n != 2*places {
			t.Errorf("delete requests = %d, want %d", n, 2*places)
		}
	})
}

// Concurrent calls of more functions than the cluster has capacity for all succeed, whatever limits the pods, and whether the watch or
// the response to a delete request is faster.
func TestFullClusterServesAll(t *testing.T) {
	t.Parallel()
	const places = 10
	for name, limit := range map[string]func(*testing.T, *simulation.Cluster){
		"nodes": func(t *testing.T, c *simulation.Cluster) { scheduler(t, c, places, full) },
		"quota": func(_ *testing.T, c *simulation.Cluster) { quota(c, places) },
	} {
		for _, late := range []time.Duration{0, 100 * time.Millisecond} {
			t.Run(fmt.Sprintf("%s, answers after %v", name, late), func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T, c *simulation.Cluster) {
					limit(t, c)
					client := c.HangingClient()
					client.AnswerDeletes(late)
					slow := func(config *Config) { config.Client.Pods = client }
					a, b := start(t, c, slow), start(t, c, slow)
					var calls []<-chan answer
					for i := range 3 * places {
						calls = append(calls, []*replica{a, b}[i%2].begin(numbered(i), digest("a")))
					}
					begin := time.Now()
					for i, call := range calls {
						if got := <-call; got.err != nil {
							t.Errorf("call of function %d after %v = %v, want nil", i, time.Since(begin), got.err)
						}
					}
					if took := time.Since(begin); took > 20*time.Second {
						t.Errorf("all calls took %v, want at most 20 s", took)
					}
					if noted := a.log.count("reason=preempted") + b.log.count("reason=preempted"); noted < 2*places {
						t.Errorf("preempted pods in the log = %d, want at least %d", noted, 2*places)
					}
				})
			})
		}
	}
}

// quota lets the API server reject pods beyond a number.
func quota(c *simulation.Cluster, places int) {
	c.Before(func(r simulation.Request) error {
		if r.Verb == "create" && r.Resource == "pods" && c.Count() >= places {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, r.Name, fmt.Errorf("exceeded quota: functions, requested: pods=1, used: pods=%d, limited: pods=%d", places, places))
		}
		return nil
	})
}

// Neither a pod in use nor the minimum of a pool is preempted. The caller gets the scheduler's message.
func TestNothingToGiveUp(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		message string
		prepare func(r *replica, c *simulation.Cluster)
	}{
		"minimum":        {full, func(r *replica, _ *simulation.Cluster) { r.limit(func(l *Limits) { l.MinPods = 1 }) }},
		"another reason": {"0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.", func(*replica, *simulation.Cluster) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *simulation.Cluster) {
				scheduler(t, c, 1, tc.message)
				r := start(t, c)
				tc.prepare(r, c)
				if _, err := r.callWithin(t.Context(), numbered(1), digest("a")); err != nil {
					t.Fatal(err)
				}
				_, err := r.callWithin(t.Context(), numbered(2), digest("a"))
				if err == nil || !strings.Contains(err.Error(), tc.message) {
					t.Errorf("call error = %v, want it to contain %q", err, tc.message)
				}
				if n := c.Requests("delete", "pods"); n > 0 {
					t.Errorf("delete requests = %d, want 0", n)
				}
			})
		})
	}
}

// A waiting pod waits for a pod in use to become idle, and preempts it then.
func TestRoomWhenCallsEnd(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		scheduler(t, c, 1, full)
		r := start(t, c)
		pod, err := r.callWithin(t.Context(), numbered(1), digest("a"))
		if err != nil {
			t.Fatal(err)
		}
		running, letGo := block()
		c.Wrapper(pod).Handle(running)
		first, second := r.begin(numbered(1), digest("a")), r.begin(numbered(2), digest("a"))
		time.Sleep(30 * time.Second)
		wantPods(t, c, pod, r.poolOf(numbered(2), digest("a")).Of(1))
		letGo()
		if got := <-first; got.err != nil {
			t.Error(got.err)
		}
		if got := <-second; got.err != nil {
			t.Error(got.err)
		}
	})
}

// An exceeded quota causes preemption like a full cluster.
func TestQuotaMakesRoom(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		const places = 3
		quota(c, places)
		r := start(t, c)
		for i := range 3 * places {
			if _, err := r.callWithin(t.Context(), numbered(i), digest("a")); err != nil {
				t.Fatalf("call of function %d = %v, want nil", i, err)
			}
			time.Sleep(time.Second)
		}
		if n := len(c.Pods()); n != places {
			t.Errorf("pods = %d, want %d", n, places)
		}
		r.limit(func(l *Limits) { l.MinPods = 1 })
		if _, err := r.callWithin(t.Context(), "r.io/more", digest("a")); err == nil || !strings.Contains(err.Error(), "exceeded quota") {
			t.Errorf("call error = %v, want it to contain \"exceeded quota\"", err)
		}
	})
}

// A call that waits for another replica's pod does not fail while that replica preempts pods for it.
func TestRoomForTheCallsOfOthers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		scheduler(t, c, 1, full)
		a, b := start(t, c), start(t, c)
		if _, err := a.callWithin(t.Context(), numbered(1), digest("a")); err != nil {
			t.Fatal(err)
		}
		for i, call := range []<-chan answer{a.begin(numbered(2), digest("a")), b.begin(numbered(2), digest("a"))} {
			if got := <-call; got.err != nil {
				t.Errorf("call of replica %d = %v, want nil", i+1, got.err)
			}
		}
	})
}

// A pod that exceeded a quota first and finds no node afterwards fails its calls with the scheduler's message.
func TestNoNodeAfterAQuota(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		scheduler(t, c, 0, full)
		c.Before(first(1, "create", "pods", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "fn", errors.New("exceeded quota: functions"))))
		r := start(t, c)
		begin := time.Now()
		_, err := r.callWithin(t.Context(), numbered(1), digest("a"))
		if waited := time.Since(begin); err == nil || !strings.Contains(err.Error(), full) || waited > 5*time.Second {
			t.Errorf("call error = %v after %v, want the scheduler's message within 5 s", err, waited)
		}
	})
}

// Other pods may repeatedly take the resources that a preemption has freed. The pod gets a node in the end.
func TestOthersTakeWhatWasFreed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		// One pod runs at a time, for longer than schedulingTimeout. The first pod that needs a node gets it last.
		var mu sync.Mutex
		var last, runs string
		waiting := 0
		next := func(name string) bool {
			mu.Lock()
			defer mu.Unlock()
			if last == "" {
				last = name
			}
			if (runs == "" || c.Gone(runs)) && (name != last || waiting == 1) {
				runs = name
				waiting--
			}
			return runs == name
		}
		c.Kubelet(func(name string) {
			mu.Lock()
			waiting++
			mu.Unlock()
			for !next(name) {
				c.Change(name, unscheduled(full))
				time.Sleep(100 * time.Millisecond)
				if c.Gone(name) || t.Context().Err() != nil {
					return
				}
			}
			c.Run(name)
			c.Wrapper(name).Handle(func(_ context.Context, list []byte) (*response, error) {
				time.Sleep(6 * time.Second)
				return &response{ResourceList: list}, nil
			})
		})
		r := start(t, c)
		var calls []<-chan answer
		for i := range 12 {
			calls = append(calls, r.begin(numbered(i), digest("a")))
		}
		for i, call := range calls {
			if got := <-call; got.err != nil {
				t.Errorf("call of function %d = %v, want nil", i, got.err)
			}
		}
	})
}

// A preemption that did not help counts as an attempt only if no other pod was scheduled meanwhile.
func TestPreemptionAttempts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		// scheduled is when another pod was scheduled, relative to when the preemption had freed enough.
		scheduled time.Duration
		want      int
	}{
		"another pod got it": {scheduled: time.Second, want: 0},
		"nobody got it":      {scheduled: -time.Second, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *simulation.Cluster) {
				r := start(t, c)
				c.Kubelet(func(name string) {
					c.Change(name, unscheduled("0/3 nodes are available: 3 node(s) were unschedulable."))
				})
				r.begin(fn, digest("a"))
				mem := r.workloads[r.poolOf(fn, digest("a"))].members[1]
				need := requests(mem.object)
				mem.preemption = &preemption{need: need, freed: need, since: time.Now()}
				r.scheduled = time.Now().Add(tc.scheduled)
				time.Sleep(schedulingTimeout)
				r.preempt(t.Context(), mem, nil)
				if got := mem.preemption.attempts; got != tc.want {
					t.Errorf("attempts = %d, want %d", got, tc.want)
				}
			})
		})
	}
}

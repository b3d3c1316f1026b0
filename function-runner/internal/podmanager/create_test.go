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

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
)

// A call on a ready pod sends no request to the API server.
func TestWarmPathAsksNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		pod := r.mustCall(digest("a"))
		before := c.Requests("", "")
		for range 100 {
			if got := r.mustCall(digest("a")); got != pod {
				t.Errorf("pod %s has run the call, want %s", got, pod)
			}
		}
		if n := c.Requests("", "") - before; n > 0 {
			t.Errorf("requests to the API server = %d, want 0", n)
		}
		wantPods(t, c, pod)
	})
}

// Two replicas that request the same ordinal, and do not know each other's pods yet, share one pod.
func TestReplicasJoin(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		a, b := start(t, c, byService), start(t, c, byService)
		c.DelayWatches(true)
		c.Kubelet(func(string) {})
		first := a.begin(fn, digest("a"))
		pod := a.poolOf(fn, digest("a")).Of(1)
		c.Run(pod)
		// The create request of b fails with AlreadyExists, and b finds the ready pod of a.
		if got := b.mustCall(digest("a")); got != pod {
			t.Errorf("pod %s has run the call of the second replica, want %s", got, pod)
		}
		c.DelayWatches(false)
		if got := <-first; got != (answer{pod: pod}) {
			t.Errorf("the first replica's call got %v, want pod %s", got, pod)
		}
		synctest.Wait()
		wantPods(t, c, pod)
		if n := len(c.Services()); n != 1 {
			t.Errorf("Services = %d, want 1", n)
		}
	})
}

// A pod that the watch does not show for a long time, such as after an outage of the API server, still serves the calls that wait for it.
func TestPodThatNoWatchShows(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		c.DelayWatches(true)
		defer c.DelayWatches(false)
		call := r.begin(fn, digest("a"))
		for range 2 {
			time.Sleep(requestTimeout)
			r.rescan()
		}
		select {
		case got := <-call:
			if got.err != nil {
				t.Error(got.err)
			}
		default:
			t.Error("the call waits for the watch")
		}
	})
}

// The log message about a pod that cannot be read also fits a pod that is watched and only slow to start.
func TestPodThatCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		c.Kubelet(func(string) {})
		call := r.begin(fn, digest("a"))
		time.Sleep(requestTimeout)
		c.Before(always("get", "pods", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errDown)))
		r.rescan()
		if n := r.log.count("a function pod could not be checked"); n != 1 {
			t.Errorf("failed check of the pod was logged %d times, want once", n)
		}
		r.stop()
		<-call
	})
}

// A terminating pod holds its name. The pool uses the next ordinal, even if only one pod may be live.
func TestTerminatingPodHoldsItsName(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"seen": false, "not seen yet": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *simulation.Cluster) {
				r := start(t, c)
				id := r.poolOf(fn, digest("a"))
				c.Hold(true)
				if late {
					// Another replica has created and deleted the pod.
					c.DelayWatches(true)
					other := newReplica(t, c)
					c.Kubelet(func(string) {})
					other.request(other.Pool(fn, digest("a")), 1)
					c.Kubelet(c.Run)
					defer c.DelayWatches(false)
					defer other.stopNow()
				} else {
					r.mustCall(digest("a"))
				}
				if err := c.Client.CoreV1().Pods(simulation.Namespace).Delete(t.Context(), id.Of(1), metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				call := r.begin(fn, digest("a"))
				if late {
					// Only the name conflict shows that the first pod still exists.
					synctest.Wait()
					c.DelayWatches(false)
				}
				if got := <-call; got != (answer{pod: id.Of(2)}) {
					t.Errorf("call got %v, want pod %s", got, id.Of(2))
				}
				wantPods(t, c, id.Of(1), id.Of(2))
				wantStats(t, r, digest("a"), pool.Stats{Ready: 1, Leaving: 1})
				c.Hold(false)
				synctest.Wait()
				wantPods(t, c, id.Of(2))
				wantStats(t, r, digest("a"), pool.Stats{Ready: 1})
			})
		})
	}
}

// stopNow stops a replica that was not started with run.
func (r *replica) stopNow() { r.end() }

// The pod that a caller needs is created even if the caller has left, and serves the next call.
func TestCreationOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := newReplica(t, c)
		r.images.wait = make(chan struct{})
		r.run()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.callWithin(ctx, fn, digest("a")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("call error = %v, want DeadlineExceeded", err)
		}
		wantPods(t, c)
		close(r.images.wait)
		synctest.Wait()
		wantStats(t, r, digest("a"), pool.Stats{Ready: 1})
		before := c.Requests("create", "")
		r.mustCall(digest("a"))
		if n := c.Requests("create", "") - before; n > 0 {
			t.Errorf("create requests of the second call = %d, want 0", n)
		}
	})
}

var podResource = schema.GroupResource{Resource: "pods"}

// The caller gets the reason why a pod does not start at once, in the original words.
func TestFailureIsExplainedAtOnce(t *testing.T) {
	t.Parallel()
	waits := func(reason, message string) func(*simulation.Cluster) {
		return func(c *simulation.Cluster) { c.Kubelet(func(name string) { c.Waits(name, reason, message) }) }
	}
	for name, tc := range map[string]struct {
		cluster func(*simulation.Cluster)
		image   error
		want    []string
		// stays reports that the pod is kept, because it may still start.
		stays bool
	}{
		"pull":      {cluster: waits("ErrImagePull", "not found: r.io/fn"), want: []string{"ErrImagePull", "not found: r.io/fn"}},
		"config":    {cluster: waits("CreateContainerConfigError", "runAsNonRoot"), want: []string{"CreateContainerConfigError", "runAsNonRoot"}},
		"no image":  {image: errors.New("no such tag"), want: []string{"entrypoint", fn, "no such tag"}},
		"forbidden": {cluster: refusing(apierrors.NewForbidden(podResource, "fn", errors.New("exceeded quota: pods=3"))), want: []string{"exceeded quota: pods=3"}},
		"crash": {cluster: func(c *simulation.Cluster) {
			c.Kubelet(func(name string) {
				c.Change(name, func(p *corev1.Pod) {
					p.Spec.NodeName, p.Status.PodIP = "node", "10.9.9.9"
					p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "function", State: corev1.ContainerState{
						Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", Message: "exec format error"},
					}}}
				})
			})
		}, want: []string{"exit code 3", "exec format error"}},
		"no node":     {stays: true, cluster: unplaced("0/3 nodes: Insufficient cpu"), want: []string{"Unschedulable", "Insufficient cpu"}},
		"no platform": {stays: true, cluster: unplaced("2 node(s) didn't match Pod's node affinity/selector"), want: []string{"affinity", fn + " is built for linux/riscv64"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *simulation.Cluster) {
				if tc.cluster != nil {
					tc.cluster(c)
				}
				r := newReplica(t, c)
				r.images.err = tc.image
				r.run()
				begin := time.Now()
				_, err := r.call(digest("a"))
				for _, want := range tc.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("call error = %v, want it to contain %q", err, want)
					}
				}
				if waited := time.Since(begin); waited > 100*time.Millisecond {
					t.Errorf("the caller waited for %v, want at most 100 ms", waited)
				}
				synctest.Wait()
				if n := len(c.Pods()); (n > 0) != tc.stays {
					t.Errorf("pods = %d, want some: %v", n, tc.stays)
				}
			})
		})
	}
}

// unplaced makes the scheduler find no node for any pod.
func unplaced(message string) func(*simulation.Cluster) {
	return func(c *simulation.Cluster) {
		c.Kubelet(func(name string) { c.Change(name, unscheduled(message)) })
	}
}

// unscheduled sets a pod's PodScheduled condition to false, with a message.
func unscheduled(message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message,
		}}
	}
}

func refusing(err error) func(*simulation.Cluster) {
	return func(c *simulation.Cluster) { c.Before(always("create", "pods", err)) }
}

// A pod that is not ready in time is deleted, and the error says how far it got.
func TestReadyTimeout(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		c.Kubelet(func(string) {})
		r := start(t, c)
		begin := time.Now()
		_, err := r.call(digest("a"))
		if want := "not ready within the pod ready timeout of 2m0s (--pod-ready-timeout): it waits for a node"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("call error = %v, want it to contain %q", err, want)
		}
		if waited := time.Since(begin); waited != 2*time.Minute {
			t.Errorf("the caller waited for %v, want 2m0s", waited)
		}
		synctest.Wait()
		wantPods(t, c)
	})
}

// Temporary errors of the API server do not fail a call.
func TestAPIServerTroubleIsOutlasted(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"429":              apierrors.NewTooManyRequests("slow down", 1),
		"500":              apierrors.NewInternalError(errors.New("webhook")),
		"500 of etcd":      &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: "etcdserver: leader changed"}},
		"502":              apierrors.NewGenericServerResponse(502, "create", podResource, "", "bad gateway", 0, true),
		"503":              apierrors.NewServiceUnavailable("starting"),
		"504":              apierrors.NewTimeoutError("etcd", 1),
		"no connection":    errDown,
		"quota has a race": apierrors.NewConflict(schema.GroupResource{Resource: "resourcequotas"}, "quota", errors.New("the object has been modified")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *simulation.Cluster) {
				r := start(t, c)
				c.Before(first(3, "create", "pods", err))
				r.mustCall(digest("a"))
				if n := c.Requests("create", "pods"); n != 4 {
					t.Errorf("create requests = %d, want 4", n)
				}
			})
		})
	}
}

// If the API server stays unreachable, the caller gets the reason when the pod's ready timeout ends.
func TestAPIServerStaysAway(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		c.Before(always("create", "pods", errDown))
		if _, err := r.call(digest("a")); err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("call error = %v, want it to contain \"connection refused\"", err)
		}
	})
}

// A pod is used, and gets its Service, even if the response to its create request was lost.
func TestAnswerOfCreationLost(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c, byService)
		c.After(first(1, "create", "pods", errDown))
		pod := r.mustCall(digest("a"))
		time.Sleep(time.Minute)
		wantPods(t, c, pod)
		if n := len(c.Services()); n != 1 {
			t.Errorf("Services = %d, want 1", n)
		}
	})
}

func byService(c *Config) { c.Frontend = ByService }

// A pod that is reached by its address has no Service.
func TestNoService(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		start(t, c).mustCall(digest("a"))
		if n := c.Requests("", "services"); n > 0 {
			t.Errorf("requests for Services = %d, want 0", n)
		}
	})
}

// A deleted Service is created again when its pod cannot be reached.
func TestServiceIsMadeAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c, byService)
		pod := r.mustCall(digest("a"))
		if err := c.Client.CoreV1().Services(simulation.Namespace).Delete(t.Context(), pod, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		// The connection must end, too.
		w := c.Wrapper(pod)
		w.Kill()
		w.Start(c)
		begin := time.Now()
		got := r.mustCall(digest("a"))
		if waited := time.Since(begin); waited > 5*time.Second {
			t.Errorf("pod %s has run the call after %v, want within 5 s", got, waited)
		}
		time.Sleep(5 * time.Second)
		if again := r.mustCall(digest("a")); again != pod {
			t.Errorf("pod %s has run the call, want %s again", again, pod)
		}
	})
}

// Each pod that is reached by its Service owns a Service that selects it. The Service of an earlier pod of the same name is deleted.
func TestService(t *testing.T) {
	t.Parallel()
	for name, earlier := range map[string]bool{"new": false, "after an earlier one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *simulation.Cluster) {
				r := start(t, c, byService)
				pod := r.poolOf(fn, digest("a")).Of(1)
				if earlier {
					c.Put(&corev1.Service{ObjectMeta: metav1.ObjectMeta{
						Name: pod, Namespace: simulation.Namespace, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod, UID: "earlier"}},
					}})
				}
				r.mustCall(digest("a"))
				time.Sleep(time.Minute)
				all := c.Services()
				if len(all) != 1 {
					t.Fatalf("Services = %d, want 1", len(all))
				}
				want := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod, UID: c.Pods()[0].UID}}
				if diff := cmp.Diff(want, all[0].OwnerReferences); diff != "" || all[0].Name != pod || all[0].Spec.Selector[functionpod.ImageLabel] != pod {
					t.Errorf("Service %s selects %v, owners (-want +got):\n%s", all[0].Name, all[0].Spec.Selector, diff)
				}
			})
		})
	}
}

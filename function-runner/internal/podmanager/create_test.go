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
	"github.com/krmfn/krmfn/services/cluster/functionpod"
)

// A call on a ready pod asks the API server nothing.
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
			t.Errorf("the API server had %d requests", n)
		}
		wantPods(t, c, pod)
	})
}

// Two replicas that want the same slot, and know nothing of each other's pods yet, share one pod.
func TestReplicasJoin(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		a, b := start(t, c, byService), start(t, c, byService)
		c.DelayWatches(true)
		c.Kubelet(func(string) {})
		first := a.begin(fn, digest("a"))
		pod := a.poolOf(fn, digest("a")).Of(1)
		c.Run(pod)
		// b's request comes to nothing, and it finds the other's pod ready.
		if got := b.mustCall(digest("a")); got != pod {
			t.Errorf("pod %s has run the call of the second replica, want %s", got, pod)
		}
		c.DelayWatches(false)
		if got := <-first; got != (answer{pod: pod}) {
			t.Errorf("the first replica's call: %v", got)
		}
		synctest.Wait()
		wantPods(t, c, pod)
		if n := len(c.Services()); n != 1 {
			t.Errorf("%d Services", n)
		}
	})
}

// A pod that the watch does not show for long, as after an outage of the API server, serves the calls that wait for it all the same.
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

// What is logged of a pod that cannot be looked up is true of one that is watched, and only starts slowly.
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
			t.Errorf("it is logged %d times that the pod could not be checked", n)
		}
		r.stop()
		<-call
	})
}

// A pod that is going holds its name. The next slot is taken, though only one pod may live.
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
					// Another replica has made and deleted the pod.
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
					// Nothing but the names tells that it runs.
					synctest.Wait()
					c.DelayWatches(false)
				}
				if got := <-call; got != (answer{pod: id.Of(2)}) {
					t.Errorf("got %v, want pod %s", got, id.Of(2))
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

// stopNow ends what a replica does that does not run.
func (r *replica) stopNow() { r.end() }

// The pod that a caller wants is made though the caller has gone, and serves the next.
func TestCreationOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := newReplica(t, c)
		r.images.wait = make(chan struct{})
		r.run()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.callWithin(ctx, fn, digest("a")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v", err)
		}
		wantPods(t, c)
		close(r.images.wait)
		synctest.Wait()
		wantStats(t, r, digest("a"), pool.Stats{Ready: 1})
		before := c.Requests("create", "")
		r.mustCall(digest("a"))
		if n := c.Requests("create", "") - before; n > 0 {
			t.Errorf("the second call made %d requests", n)
		}
	})
}

var podResource = schema.GroupResource{Resource: "pods"}

// What keeps a pod from starting is told to the caller at once, in the words of who knows.
func TestFailureIsExplainedAtOnce(t *testing.T) {
	t.Parallel()
	waits := func(reason, message string) func(*simulation.Cluster) {
		return func(c *simulation.Cluster) { c.Kubelet(func(name string) { c.Waits(name, reason, message) }) }
	}
	for name, tc := range map[string]struct {
		cluster func(*simulation.Cluster)
		image   error
		want    []string
		// stays says that the pod may yet start.
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
						t.Errorf("got error %v, want %q in it", err, want)
					}
				}
				if waited := time.Since(begin); waited > 100*time.Millisecond {
					t.Errorf("the caller waited for %v", waited)
				}
				synctest.Wait()
				if n := len(c.Pods()); (n > 0) != tc.stays {
					t.Errorf("%d pods are left", n)
				}
			})
		})
	}
}

// unplaced has the scheduler find no node.
func unplaced(message string) func(*simulation.Cluster) {
	return func(c *simulation.Cluster) {
		c.Kubelet(func(name string) { c.Change(name, unscheduled(message)) })
	}
}

// unscheduled has a pod wait for a node, and say why.
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

// A pod that does not get ready in time is given up, and how far it was is told.
func TestReadyTimeout(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		c.Kubelet(func(string) {})
		r := start(t, c)
		begin := time.Now()
		_, err := r.call(digest("a"))
		if want := "not ready within the pod ready timeout of 2m0s (--pod-ready-timeout): it waits for a node"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
		if waited := time.Since(begin); waited != 2*time.Minute {
			t.Errorf("the caller waited for %v", waited)
		}
		synctest.Wait()
		wantPods(t, c)
	})
}

// Trouble of the API server is not the caller's.
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
					t.Errorf("%d requests", n)
				}
			})
		})
	}
}

// An API server that stays away is told of when the pod's time is over.
func TestAPIServerStaysAway(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		c.Before(always("create", "pods", errDown))
		if _, err := r.call(digest("a")); err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("got error %v, want why", err)
		}
	})
}

// A pod whose creation was not answered is used, and gets its Service.
func TestAnswerOfCreationLost(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c, byService)
		c.After(first(1, "create", "pods", errDown))
		pod := r.mustCall(digest("a"))
		time.Sleep(time.Minute)
		wantPods(t, c, pod)
		if n := len(c.Services()); n != 1 {
			t.Errorf("%d Services", n)
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
			t.Errorf("%d requests for Services", n)
		}
	})
}

// A Service that somebody deletes is made again when its pod cannot be reached.
func TestServiceIsMadeAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c, byService)
		pod := r.mustCall(digest("a"))
		if err := c.Client.CoreV1().Services(simulation.Namespace).Delete(t.Context(), pod, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		// The connection has ended, too.
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

// Each pod that is reached by one has a Service that selects it and goes with it. That of an earlier pod of the name gives way.
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
					t.Fatalf("%d Services", len(all))
				}
				want := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod, UID: c.Pods()[0].UID}}
				if diff := cmp.Diff(want, all[0].OwnerReferences); diff != "" || all[0].Name != pod || all[0].Spec.Selector[functionpod.ImageLabel] != pod {
					t.Errorf("Service %s selects %v, owners (-want +got):\n%s", all[0].Name, all[0].Spec.Selector, diff)
				}
			})
		})
	}
}

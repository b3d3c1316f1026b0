// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
)

// An API server that hangs does not delay warm calls, however many pods are idle.
func TestHangingAPIServer(t *testing.T) {
	t.Parallel()
	for _, functions := range []int{1, 80} {
		t.Run(strconv.Itoa(functions), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *simulation.Cluster) {
				client := c.HangingClient()
				r := start(t, c, func(config *Config) { config.Client.Pods = client })
				reference := func(i int) string { return fmt.Sprintf("r.io/fn%d:v1", i) }
				for i := range functions {
					if _, err := r.callWithin(t.Context(), reference(i), digest("a")); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(ttl + time.Second)
				client.Hang(true)
				scanned := make(chan struct{})
				go func() {
					defer close(scanned)
					r.scan(t.Context())
				}()
				time.Sleep(time.Second)
				begin := time.Now()
				for i := range functions {
					if _, err := r.callWithin(t.Context(), reference(i), digest("a")); err != nil {
						t.Errorf("call %d = %v, want nil", i, err)
					}
				}
				if waited := time.Since(begin); waited > 0 {
					t.Errorf("%d warm calls waited for %v, want 0", functions, waited)
				}
				<-scanned
				if took := time.Since(begin); took > requestTimeout {
					t.Errorf("the scan took %v without a response, want at most requestTimeout", took)
				}
				client.Hang(false)
				if n := len(c.Pods()); n != functions {
					t.Errorf("pods = %d, want %d", n, functions)
				}
			})
		})
	}
}

// Pods that keep failing are not created for each call. The callers get the last reason at once.
func TestFailureHasAMemory(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		c.Kubelet(func(name string) {
			time.Sleep(time.Second)
			c.Waits(name, "CreateContainerError", "no such file")
		})
		events := record.NewFakeRecorder(100)
		r := start(t, c, func(config *Config) { config.Events = events })
		calls, slow := 0, 0
		for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); calls++ {
			begin := time.Now()
			_, err := r.call(digest("a"))
			if err == nil || !strings.Contains(err.Error(), "no such file") {
				t.Fatalf("call %d = %v, want it to contain \"no such file\"", calls, err)
			}
			if time.Since(begin) > 0 {
				slow++
			}
			time.Sleep(100 * time.Millisecond)
		}
		if made := c.Requests("create", "pods"); made > 30 || slow > made {
			t.Errorf("in 10 minutes with one caller, %d pods were created and %d of %d calls waited, want at most 30 pods and one waiting call for each", made, slow, calls)
		}
		if event := <-events.Events; !strings.HasPrefix(event, "Warning BackOff back-off creating function pods of "+fn) {
			t.Errorf("event = %q, want a BackOff warning", event)
		}
		c.Kubelet(c.Run)
		time.Sleep(time.Minute)
		r.mustCall(digest("a"))
	})
}

// A use that could not be recorded is recorded by the next scan, so that other replicas do not delete the pod too early.
func TestUseIsNotedLater(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		a, b := start(t, c), start(t, c)
		pod := a.mustCall(digest("a"))
		time.Sleep(20 * time.Minute)
		a.mustCall(digest("a"))
		c.Before(first(1, "patch", "pods", errDown))
		a.rescan()
		for range 15 {
			time.Sleep(time.Minute)
			b.rescan()
			a.rescan()
		}
		wantPods(t, c, pod)
	})
}

// Whatever users change in the labels and annotations of a pod, calls succeed, and the pod is either used or forgotten.
func TestRewrittenPods(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*corev1.Pod){
		"slot":            func(p *corev1.Pod) { p.Labels[functionpod.OrdinalLabel] = "7" },
		"pool":            func(p *corev1.Pod) { p.Labels[functionpod.PoolLabel] = "other" },
		"image label":     func(p *corev1.Pod) { p.Labels[functionpod.ImageLabel] = "other" },
		"no labels":       func(p *corev1.Pod) { p.Labels = nil },
		"reference":       func(p *corev1.Pod) { annotated(p, functionpod.ReferenceAnnotation, "r.io/other") },
		"digest":          func(p *corev1.Pod) { annotated(p, functionpod.DigestAnnotation, digest("b")) },
		"no annotations":  func(p *corev1.Pod) { p.Annotations = nil },
		"nothing is left": func(p *corev1.Pod) { p.Annotations, p.Labels = nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *simulation.Cluster) {
				r := start(t, c)
				pod := r.mustCall(digest("a"))
				c.Change(pod, change)
				synctest.Wait()
				if uid := c.Pods()[0].UID; c.Pods()[0].Labels[functionpod.ImageLabel] == "" && r.byUID[uid] != nil {
					t.Error("a pod is used although the watch does not show it")
				}
				for range 3 {
					r.mustCall(digest("a"))
					time.Sleep(10 * time.Second)
				}
				if p := c.Pods()[0]; p.Name == pod && p.Annotations[functionpod.DigestAnnotation] == digest("a") && p.Labels[functionpod.OrdinalLabel] != "1" {
					t.Errorf("labels = %v, want them restored", p.Labels)
				}
				_ = c.Client.CoreV1().Pods(simulation.Namespace).Delete(t.Context(), pod, metav1.DeleteOptions{})
				synctest.Wait()
				begin := time.Now()
				r.mustCall(digest("a"))
				if waited := time.Since(begin); waited > 5*time.Second {
					t.Errorf("a call after the pod's deletion waited for %v, want at most 5 s", waited)
				}
				time.Sleep(ttl + avoidFor)
				r.rescan()
				time.Sleep(ttl)
				r.rescan()
				if len(r.byUID) > 0 {
					t.Errorf("known pods = %d, want 0", len(r.byUID))
				}
			})
		})
	}
}

// A pod of another owner with the name of a function pod blocks only the name.
func TestNameIsTaken(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		name := r.poolOf(fn, digest("a")).Of(1)
		c.Put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: simulation.Namespace}})
		begin := time.Now()
		if pod := r.mustCall(digest("a")); pod == name {
			t.Error("the call used a pod of another owner")
		}
		if waited := time.Since(begin); waited > 5*time.Second {
			t.Errorf("the call waited for %v, want at most 5 s", waited)
		}
		if r.log.count("another pod has the name of a function pod") != 1 {
			t.Error("the name conflict is not logged exactly once")
		}
	})
}

// Admission may replace the images of pods. Replicas identify pods by the annotations that function runners write.
func TestAdmissionRewritesImages(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		c.Admit(func(p *corev1.Pod) { p.Spec.Containers[0].Image = "mirror.example.org/fn:v1" })
		a, b := start(t, c), start(t, c)
		pod := a.mustCall(digest("a"))
		if got := b.mustCall(digest("a")); got != pod {
			t.Errorf("the second replica used pod %s, want %s", got, pod)
		}
		wantPods(t, c, pod)
	})
}

// A pod of another function may get the address of a pod that was lost unnoticed. It does not run calls of the first function.
func TestAddressIsUsedAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		pod := r.mustCall(digest("a"))
		w := c.Wrapper(pod)
		w.Kill()
		other := &simulation.Wrapper{IP: w.IP}
		other.Target.PodUID, other.Target.Function = "other", "r.io/other:v1@"+digest("c")
		other.Start(c)
		defer other.Kill()
		for range 3 {
			begin := time.Now()
			if got := r.mustCall(digest("a")); got == pod {
				t.Errorf("pod %s has run the call, although another pod has its address", got)
			}
			if waited := time.Since(begin); waited > 5*time.Second {
				t.Errorf("a call waited for %v, want at most 5 s", waited)
			}
			time.Sleep(3 * time.Second)
		}
		if n := other.Calls(); n > 0 {
			t.Errorf("the other function ran %d calls, want 0", n)
		}
	})
}

// Replicas without contact to each other balance their calls by the loads that the pods report.
func TestReplicasShareLoad(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		const replicas, callers, maxPods = 10, 2, 4
		c.Kubelet(func(name string) {
			c.Run(name)
			c.Wrapper(name).Handle(func(_ context.Context, list []byte) (*response, error) {
				time.Sleep(100 * time.Millisecond)
				return &response{ResourceList: list}, nil
			})
		})
		end := time.Now().Add(30 * time.Second)
		var group errgroup.Group
		for range replicas {
			r := start(t, c)
			r.limit(func(l *Limits) { l.MaxPods, l.Waitlist, l.PerPod = maxPods, 2, 8 })
			for range callers {
				group.Go(func() error {
					for time.Now().Before(end) {
						if _, err := r.call(digest("a")); err != nil {
							return err
						}
						time.Sleep(time.Millisecond)
					}
					return nil
				})
			}
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		var calls []int
		for _, pod := range c.Pods() {
			calls = append(calls, c.Wrapper(pod.Name).Calls())
		}
		if len(calls) != maxPods || slices.Max(calls) > 2*slices.Min(calls) {
			t.Errorf("%d callers in each of %d replicas: calls by pod = %v, want %d pods and at most a factor of two", callers, replicas, calls, maxPods)
		}
	})
}

// Replicas that warm up the same functions at the same time create each pod once, whether all at once or a few at a time.
func TestNoHerd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		functions, warmUps int
		kubelet            func(c *simulation.Cluster, pod string)
	}{
		"at once":         {300, 300, func(*simulation.Cluster, string) {}},
		"a few at a time": {60, 16, func(c *simulation.Cluster, pod string) { time.Sleep(time.Second); c.Run(pod) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *simulation.Cluster) {
				const replicas = 10
				c.Kubelet(func(pod string) { test.kubelet(c, pod) })
				var all []*replica
				for range replicas {
					all = append(all, start(t, c, func(config *Config) { config.MaxWarmUps = test.warmUps }))
				}
				begun := c.Requests("", "")
				for _, r := range all {
					for i := range test.functions {
						f := r.Pool(fmt.Sprintf("r.io/f%d:v1", i), digest("a"))
						go func() {
							defer f.Done()
							f.WarmSoon(t.Context())
						}()
					}
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				pods, requests := len(c.Pods()), c.Requests("", "")-begun
				if pods != test.functions || float64(requests) > 1.2*float64(test.functions) {
					t.Errorf("%d replicas created %d pods with %d requests, want %d pods with at most 1.2 requests each", replicas, pods, requests, test.functions)
				}
			})
		})
	}
}

// A pod that becomes ready at the moment of its ready timeout is either used or deleted, but not both.
func TestReadyInTheLastMoment(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		c.Kubelet(func(name string) {
			time.Sleep(r.config.ReadyTimeout)
			c.Run(name)
		})
		pod, err := r.call(digest("a"))
		synctest.Wait()
		c.Kubelet(c.Run)
		if err == nil {
			wantPods(t, c, pod)
			wantStats(t, r, digest("a"), pool.Stats{Ready: 1})
			return
		}
		wantPods(t, c)
		if len(r.byUID) > 0 {
			t.Errorf("known pods = %d, want 0", len(r.byUID))
		}
	})
}

// A call that detects a lost pod works, even if other goroutines detect the loss at the same time.
func TestLossIsNoticedByManyAtOnce(t *testing.T) {
	t.Parallel()
	for i := range 20 {
		bubble(t, func(t *testing.T, c *simulation.Cluster) {
			r := start(t, c)
			pod := r.mustCall(digest("a"))
			// The endpoint has closed the idle connection.
			time.Sleep(70 * time.Second)
			go c.Ready(pod, corev1.ConditionFalse)
			c.Wrapper(pod).Kill()
			ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, errors.New("5 seconds"))
			defer cancel()
			if got, err := r.callWithin(ctx, fn, digest("a")); err != nil || got == pod {
				t.Errorf("trial %d: call = pod %s, error %v, want another pod than %s", i, got, err, pod)
			}
		})
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfigs

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	kubetesting "k8s.io/client-go/testing"

	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
	"github.com/krmfn/krmfn/internal/traits"
)

const (
	binaryA = "{image: a, binaryExecutor: {tags: [v1], path: a}}"
	podB    = "{image: b, podExecutor: {tags: [v1, v2], maxParallelExecutions: 3}}"
)

func wantFunctions(t *testing.T, r *replica, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, r.functions()); diff != "" {
		t.Errorf("executables (-want +got):\n%s", diff)
	}
}

func wantPods(t *testing.T, r *replica, reference string, want int) {
	t.Helper()
	if got := r.Pods(reference).MaxPods; got != want {
		t.Errorf("Pods(%s).MaxPods = %d, want %d", reference, got, want)
	}
}

// New, changed and deleted objects take effect at once.
func TestFollow(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		c.put("a", binaryA)
		r := start(t, c)
		<-r.Tried()
		wantFunctions(t, r, map[string]string{"r.io/a:v1": "/functions/a"})
		c.put("b", podB)
		wantPods(t, r, "r.io/b:v1", 3)
		wantPods(t, r, "r.io/b@sha256:ab", 3)
		wantPods(t, r, "other.io/b:v1", 0)
		if diff := cmp.Diff([]string{"r.io/b:v1", "r.io/b:v2"}, r.warmed); diff != "" {
			t.Errorf("warmed (-want +got):\n%s", diff)
		}
		c.wantStatus("a", "")
		c.wantStatus("b", "")

		c.put("a", "{image: a, prefixes: [other.io/x], binaryExecutor: {tags: [v2], path: b}}")
		wantFunctions(t, r, map[string]string{"other.io/x/a:v2": "/functions/b"})
		c.put("b", "{image: b, podExecutor: {tags: [v1, v3]}}")
		wantPods(t, r, "r.io/b:v1", 0)
		if diff := cmp.Diff([]string{"r.io/b:v1", "r.io/b:v2", "r.io/b:v3"}, r.warmed); diff != "" {
			t.Errorf("warmed (-want +got):\n%s", diff)
		}
		c.put("b", "{image: b, prefixes: [other.io], binaryExecutor: {tags: [v1], path: b}}")
		wantFunctions(t, r, map[string]string{"other.io/x/a:v2": "/functions/b", "other.io/b:v1": "/functions/b"})
		c.remove("a")
		c.remove("b")
		wantFunctions(t, r, map[string]string{})
		changes := r.pods
		time.Sleep(time.Hour)
		if patches := c.patches(); r.pods != changes || patches != 5 {
			t.Errorf("at the end: pod changes = %d, patches = %d, want %d and 5", r.pods, patches, changes)
		}
	})
}

// Changed trait annotations take effect at once, and their problems are reported. Other annotations have no effect.
func TestFollowAnnotations(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		c.put("a", podB)
		r := start(t, c)
		<-r.Tried()
		changes := r.pods
		for _, tc := range []struct {
			annotations map[string]string
			changes     int
			text        string
		}{
			{annotations: map[string]string{"other": "x"}},
			{annotations: map[string]string{"other": "x", traits.WorkerLabel: "true"}, changes: 1},
			{annotations: map[string]string{traits.WorkerLabel: "TRUE"}, changes: 2, text: reporter + `metadata.annotations are invalid: krmfn.dev/worker is "TRUE", want true or false`},
			{annotations: nil, changes: 3},
		} {
			c.edit(func(u *unstructured.Unstructured) { u.SetAnnotations(tc.annotations) })
			time.Sleep(time.Minute)
			synctest.Wait()
			if diff := cmp.Diff(traits.Only(tc.annotations), r.Pods("r.io/b:v1").Declared); diff != "" || r.pods-changes != tc.changes {
				t.Errorf("pod changes = %d, want %d, Declared (-want +got):\n%s", r.pods-changes, tc.changes, diff)
			}
			c.wantStatus("a", tc.text)
		}
	})
}

// A cluster that does not serve the resource is logged once and checked at intervals.
func TestNotServed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		c.set(false, nil)
		r := start(t, c)
		<-r.Tried()
		time.Sleep(time.Hour)
		if n := r.logged("\n"); n != 1 || r.logged("has no FunctionConfig objects") != 1 {
			t.Errorf("logged lines = %d, want 1:\n%s", n, &r.log)
		}
		c.put("a", binaryA)
		c.set(true, nil)
		time.Sleep(notServedPause)
		synctest.Wait()
		wantFunctions(t, r, map[string]string{"r.io/a:v1": "/functions/a"})
		c.wantStatus("a", "")

		// The resource is removed again, with its objects.
		c.PrependReactor("list", "functionconfigs", func(kubetesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewNotFound(functionconfig.Resource.GroupResource(), "")
		})
		c.PrependWatchReactor("functionconfigs", func(kubetesting.Action) (bool, watch.Interface, error) {
			return true, nil, apierrors.NewNotFound(functionconfig.Resource.GroupResource(), "")
		})
		c.set(false, nil)
		r.stop()
		again := start(t, c)
		time.Sleep(time.Hour)
		wantFunctions(t, again, nil)
		if n := again.logged("\n"); n != 1 {
			t.Errorf("logged lines = %d, want 1:\n%s", n, &again.log)
		}
	})
}

// When the resource is removed from the cluster, the settings of its objects are removed, too.
func TestServedNoMore(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		c.put("a", binaryA)
		watches := make(chan *watch.RaceFreeFakeWatcher, 10)
		c.PrependWatchReactor("functionconfigs", func(kubetesting.Action) (bool, watch.Interface, error) {
			w := watch.NewRaceFreeFake()
			watches <- w
			return true, w, nil
		})
		r := start(t, c)
		wantFunctions(t, r, map[string]string{"r.io/a:v1": "/functions/a"})
		c.set(false, nil)
		c.PrependReactor("list", "functionconfigs", func(kubetesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewNotFound(functionconfig.Resource.GroupResource(), "")
		})
		(<-watches).Error(expired())
		time.Sleep(time.Minute)
		synctest.Wait()
		wantFunctions(t, r, map[string]string{})
		if n := r.logged("has no FunctionConfig objects"); n != 1 {
			t.Errorf("the removal was logged %d times, want once:\n%s", n, &r.log)
		}
	})
}

// expired returns the error of a watch whose resource version is too old.
func expired() *metav1.Status {
	status := apierrors.NewResourceExpired("too old resource version").Status()
	return &status
}

// The follower finds changes that the watch has missed in the next list.
func TestRelist(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		c.put("a", binaryA)
		c.put("b", podB)
		watches := make(chan *watch.RaceFreeFakeWatcher, 10)
		c.PrependWatchReactor("functionconfigs", func(kubetesting.Action) (bool, watch.Interface, error) {
			w := watch.NewRaceFreeFake()
			watches <- w
			return true, w, nil
		})
		r := start(t, c)
		c.remove("b")
		c.put("a", "{image: a, binaryExecutor: {tags: [v2], path: a}}")
		wantPods(t, r, "r.io/b", 3)
		(<-watches).Error(expired())
		time.Sleep(time.Minute)
		synctest.Wait()
		wantPods(t, r, "r.io/b", 0)
		wantFunctions(t, r, map[string]string{"r.io/a:v2": "/functions/a"})
		if n := r.logged("level=WARN"); n != 0 {
			t.Errorf("a relist was logged as a warning:\n%s", &r.log)
		}
	})
}

// Missing permissions are logged once, by name, and retried at long intervals.
func TestForbidden(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"list", "watch"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *cluster) {
				c.put("a", binaryA)
				var granted atomic.Bool
				var attempts atomic.Int32
				refuse := func(action kubetesting.Action) error {
					if action.GetVerb() != verb || granted.Load() {
						return nil
					}
					attempts.Add(1)
					return apierrors.NewForbidden(functionconfig.Resource.GroupResource(), "", errors.New("no"))
				}
				c.PrependReactor("*", "functionconfigs", func(action kubetesting.Action) (bool, runtime.Object, error) {
					err := refuse(action)
					return err != nil, nil, err
				})
				c.PrependWatchReactor("functionconfigs", func(action kubetesting.Action) (bool, watch.Interface, error) {
					err := refuse(action)
					return err != nil, nil, err
				})
				r := start(t, c)
				<-r.Tried()
				time.Sleep(time.Hour)
				synctest.Wait()
				if n := r.logged("level=WARN"); n != 1 || r.logged("get, list, watch, patch on functionconfigs") != 1 {
					t.Errorf("warnings = %d, want 1:\n%s", n, &r.log)
				}
				if n := attempts.Load(); n > 15 {
					t.Errorf("attempts in an hour = %d, want at most 15", n)
				}
				granted.Store(true)
				time.Sleep(forbiddenPause)
				synctest.Wait()
				wantFunctions(t, r, map[string]string{"r.io/a:v1": "/functions/a"})
			})
		})
	}
}

// Tried does not wait for an API server that does not respond. The error is logged once, and the follower retries.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		c.set(true, errors.New("connection refused"))
		r := start(t, c)
		<-r.Tried()
		time.Sleep(time.Hour)
		if n := r.logged("\n"); n != 1 || r.logged("connection refused") != 1 {
			t.Errorf("logged lines = %d, want 1:\n%s", n, &r.log)
		}
		c.put("a", binaryA)
		c.set(true, nil)
		time.Sleep(2 * longestPause)
		synctest.Wait()
		wantFunctions(t, r, map[string]string{"r.io/a:v1": "/functions/a"})
	})
}

// A list request that does not succeed times out.
func TestSlowList(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		c.PrependReactor("list", "functionconfigs", func(kubetesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewServiceUnavailable("busy")
		})
		begin := time.Now()
		r := start(t, c)
		<-r.Tried()
		if waited := time.Since(begin); waited > servedTimeout+syncTimeout {
			t.Errorf("Tried() took %v, want at most servedTimeout + syncTimeout", waited)
		}
		if r.logged(errSlow.Error()) != 1 {
			t.Errorf("errSlow was not logged exactly once:\n%s", &r.log)
		}
	})
}

// Run returns when its context ends, even while a patch fails.
func TestEnd(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		c.PrependReactor("patch", "functionconfigs", func(kubetesting.Action) (bool, runtime.Object, error) {
			return true, nil, context.DeadlineExceeded
		})
		c.put("a", binaryA)
		r := start(t, c)
		r.stop()
		if n := r.logged("cannot be written"); n != 1 {
			t.Errorf("the failed patch was logged %d times, want once:\n%s", n, &r.log)
		}
	})
}

// An object that is being deleted has no effect, and the follower removes Porch's finalizer.
func TestFinalizer(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		c.put("a", binaryA)
		c.edit(func(u *unstructured.Unstructured) { u.SetFinalizers([]string{Finalizer, "other"}) })
		r := start(t, c)
		wantFunctions(t, r, map[string]string{"r.io/a:v1": "/functions/a"})
		if got := c.get("a").GetFinalizers(); len(got) != 2 {
			t.Errorf("finalizers before the deletion = %v, want both", got)
		}
		c.edit(func(u *unstructured.Unstructured) { u.SetDeletionTimestamp(new(metav1.Now())) })
		wantFunctions(t, r, map[string]string{})
		if diff := cmp.Diff([]string{"other"}, c.get("a").GetFinalizers()); diff != "" {
			t.Errorf("finalizers (-want +got):\n%s", diff)
		}
	})
}

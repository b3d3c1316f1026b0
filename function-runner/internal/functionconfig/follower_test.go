// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfig

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

	"github.com/krmfn/krmfn/services/evaluation/traits"
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
		t.Errorf("%s has %d pods at most, want %d", reference, got, want)
	}
}

// What objects say is in force at once, and so is that they have changed or are gone.
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
			t.Errorf("%d changes and %d patches in the end, want %d and 5", r.pods, patches, changes)
		}
	})
}

// What annotations declare is in force, and what is wrong with them is told, as soon as they change; of other annotations nothing is.
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
			{annotations: map[string]string{traits.WorkerLabel: "TRUE"}, changes: 2, text: reporter + `metadata.annotations: krmfn.dev/worker is "TRUE", want true or false`},
			{annotations: nil, changes: 3},
		} {
			c.edit(func(u *unstructured.Unstructured) { u.SetAnnotations(tc.annotations) })
			time.Sleep(time.Minute)
			synctest.Wait()
			if diff := cmp.Diff(traits.Only(tc.annotations), r.Pods("r.io/b:v1").Declared); diff != "" || r.pods-changes != tc.changes {
				t.Errorf("after %d changes, want %d, declared (-want +got):\n%s", r.pods-changes, tc.changes, diff)
			}
			c.wantStatus("a", tc.text)
		}
	})
}

// A cluster without such objects is told of once, and asked again now and then.
func TestNotServed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		c.set(false, nil)
		r := start(t, c)
		<-r.Tried()
		time.Sleep(time.Hour)
		if n := r.logged("\n"); n != 1 || r.logged("has no FunctionConfig objects") != 1 {
			t.Errorf("%d lines were logged:\n%s", n, &r.log)
		}
		c.put("a", binaryA)
		c.set(true, nil)
		time.Sleep(notServedPause)
		synctest.Wait()
		wantFunctions(t, r, map[string]string{"r.io/a:v1": "/functions/a"})
		c.wantStatus("a", "")

		// And it goes again, with its objects.
		c.PrependReactor("list", "functionconfigs", func(kubetesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewNotFound(Resource.GroupResource(), "")
		})
		c.PrependWatchReactor("functionconfigs", func(kubetesting.Action) (bool, watch.Interface, error) {
			return true, nil, apierrors.NewNotFound(Resource.GroupResource(), "")
		})
		c.set(false, nil)
		r.stop()
		again := start(t, c)
		time.Sleep(time.Hour)
		wantFunctions(t, again, nil)
		if n := again.logged("\n"); n != 1 {
			t.Errorf("%d lines were logged:\n%s", n, &again.log)
		}
	})
}

// Objects that cannot be had any more because their kind has gone are not in force any more.
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
			return true, nil, apierrors.NewNotFound(Resource.GroupResource(), "")
		})
		(<-watches).Error(expired())
		time.Sleep(time.Minute)
		synctest.Wait()
		wantFunctions(t, r, map[string]string{})
		if n := r.logged("has no FunctionConfig objects"); n != 1 {
			t.Errorf("it was logged %d times:\n%s", n, &r.log)
		}
	})
}

// expired is what an API server says that does not have the changes any more which a watch is to tell of.
func expired() *metav1.Status {
	status := apierrors.NewResourceExpired("too old resource version").Status()
	return &status
}

// Changes that the watch has missed are found in a list.
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
			t.Errorf("what happens every day is a warning:\n%s", &r.log)
		}
	})
}

// Permissions that are missing are told of once, by what they are, and asked for again seldom.
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
					return apierrors.NewForbidden(Resource.GroupResource(), "", errors.New("no"))
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
					t.Errorf("%d warnings:\n%s", n, &r.log)
				}
				if n := attempts.Load(); n > 15 {
					t.Errorf("%d attempts in an hour", n)
				}
				granted.Store(true)
				time.Sleep(forbiddenPause)
				synctest.Wait()
				wantFunctions(t, r, map[string]string{"r.io/a:v1": "/functions/a"})
			})
		})
	}
}

// An API server that does not answer is not waited for, and what is in force stays.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		c.set(true, errors.New("connection refused"))
		r := start(t, c)
		<-r.Tried()
		time.Sleep(time.Hour)
		if n := r.logged("\n"); n != 1 || r.logged("connection refused") != 1 {
			t.Errorf("%d lines were logged:\n%s", n, &r.log)
		}
		c.put("a", binaryA)
		c.set(true, nil)
		time.Sleep(2 * longestPause)
		synctest.Wait()
		wantFunctions(t, r, map[string]string{"r.io/a:v1": "/functions/a"})
	})
}

// A list that never comes is given up.
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
			t.Errorf("waited for %v", waited)
		}
		if r.logged(errSlow.Error()) != 1 {
			t.Errorf("logged:\n%s", &r.log)
		}
	})
}

// A follower ends with its context, whatever it is doing.
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
			t.Errorf("it was logged %d times:\n%s", n, &r.log)
		}
	})
}

// Objects that are on their way out are in force no more, and are let go of.
func TestFinalizer(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		c.put("a", binaryA)
		c.edit(func(u *unstructured.Unstructured) { u.SetFinalizers([]string{Finalizer, "other"}) })
		r := start(t, c)
		wantFunctions(t, r, map[string]string{"r.io/a:v1": "/functions/a"})
		if got := c.get("a").GetFinalizers(); len(got) != 2 {
			t.Errorf("finalizers of an object that stays: %v", got)
		}
		c.edit(func(u *unstructured.Unstructured) { u.SetDeletionTimestamp(new(metav1.Now())) })
		wantFunctions(t, r, map[string]string{})
		if diff := cmp.Diff([]string{"other"}, c.get("a").GetFinalizers()); diff != "" {
			t.Errorf("finalizers (-want +got):\n%s", diff)
		}
	})
}

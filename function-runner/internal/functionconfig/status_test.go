// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfig

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kubetesting "k8s.io/client-go/testing"
)

func setStatus(field string, value any) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(u.Object, value, "status", field); err != nil {
			panic(err)
		}
	}
}

// The status says which generation was looked at and what is wrong with it, and keeps what others say.
func TestStatus(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		r := start(t, c)
		r.has(false)
		c.put("a", binaryA)
		c.wantStatus("a", "function-runner: spec.binaryExecutor.path: executable a is missing")
		wantFunctions(t, r, nil)
		c.edit(setStatus("apiServerObservedGeneration", int64(7)))
		r.has(true)
		c.wantStatus("a", "")
		wantFunctions(t, r, map[string]string{"r.io/a:v1": "/functions/a"})

		// An error that another component has written is its own.
		c.edit(setStatus("error", "porch-server: no such function"))
		c.put("a", "{image: a, binaryExecutor: {tags: [v2], path: a}}")
		c.wantStatus("a", "porch-server: no such function")
		want := map[string]any{"apiServerObservedGeneration": int64(7), "functionRunnerObservedGeneration": c.get("a").GetGeneration(), "error": "porch-server: no such function"}
		if diff := cmp.Diff(want, c.get("a").Object["status"]); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
		if n := c.patches(); n != 3 {
			t.Errorf("%d patches, want 3", n)
		}
		if n := r.logged("has problems"); n != 1 {
			t.Errorf("the problem was logged %d times", n)
		}
	})
}

// Replicas that agree write once between them, and those that do not let it rest.
func TestReplicas(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		replicas := []*replica{start(t, c), start(t, c), start(t, c)}
		c.put("a", binaryA)
		c.wantStatus("a", "")
		time.Sleep(time.Hour)
		version := c.get("a").GetResourceVersion()
		if version != "2" {
			t.Errorf("the object has changed to version %s, want one change", version)
		}
		before := c.patches()
		// Which of them is heard last is left open.
		replicas[0].has(false)
		time.Sleep(time.Hour)
		synctest.Wait()
		// At most every replica every 10 minutes.
		if n := c.patches() - before; n > 3*7 {
			t.Errorf("%d patches in an hour by replicas that do not agree", n)
		}
		for _, r := range replicas[1:] {
			r.has(false)
		}
		time.Sleep(repeatAfter)
		synctest.Wait()
		before = c.patches()
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := c.patches() - before; n != 0 {
			t.Errorf("%d patches by replicas that agree", n)
		}
		c.wantStatus("a", "function-runner: spec.binaryExecutor.path: executable a is missing")
	})
}

// A status that somebody has taken away comes back, in time.
func TestStatusIsLost(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		c.put("a", binaryA)
		start(t, c)
		c.edit(func(u *unstructured.Unstructured) { delete(u.Object, "status") })
		time.Sleep(repeatAfter + recheckInterval)
		synctest.Wait()
		c.wantStatus("a", "")
	})
}

// The status of an object is not written to a later version, and many objects are written one after another.
func TestConflicts(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		const objects = 60
		for i := range objects {
			c.put("a"+strings.Repeat("a", i), "{image: a"+strings.Repeat("a", i)+", podExecutor: {}}")
		}
		var tried atomic.Bool
		c.PrependReactor("patch", "functionconfigs", func(kubetesting.Action) (bool, runtime.Object, error) {
			if tried.CompareAndSwap(false, true) {
				return true, nil, apierrors.NewConflict(Resource.GroupResource(), "a", errors.New("another version"))
			}
			return false, nil, nil
		})
		r := start(t, c)
		if n := c.patches(); n > writeBurst {
			t.Errorf("%d patches at once", n)
		}
		time.Sleep(objects/writesPerSecond*time.Second + recheckInterval)
		synctest.Wait()
		for i := range objects {
			c.wantStatus("a"+strings.Repeat("a", i), "")
		}
		if n := c.patches(); n != objects+1 || r.logged("level=WARN") != 0 {
			t.Errorf("%d patches, logged:\n%s", n, &r.log)
		}
	})
}

// A permission to write that is missing is told of once, and does not keep objects from being in force.
func TestWritingIsForbidden(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		c.PrependReactor("patch", "functionconfigs", func(kubetesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(Resource.GroupResource(), "", errors.New("no"))
		})
		c.put("a", binaryA)
		c.put("b", podB)
		r := start(t, c)
		wantFunctions(t, r, map[string]string{"r.io/a:v1": "/functions/a"})
		time.Sleep(time.Hour)
		if n := r.logged("level=WARN"); n != 1 || r.logged("patch on functionconfigs/status") != 1 {
			t.Errorf("%d warnings:\n%s", n, &r.log)
		}
		if n := c.patches(); n > 2*7 {
			t.Errorf("%d attempts in an hour", n)
		}
	})
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		problems []string
		want     string
	}{
		{nil, ""},
		{[]string{"a", "b\nc"}, "function-runner: a; b c"},
		{[]string{strings.Repeat("é", 1000)}, "function-runner: " + strings.Repeat("é", 502) + "…"},
	} {
		v := &verdict{problems: tc.problems}
		if got := v.text(); got != tc.want || len(got) > maxError || !utf8.ValidString(got) {
			t.Errorf("%d bytes: %q, want %q", len(got), got, tc.want)
		}
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfigs

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

	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
)

func setStatus(field string, value any) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(u.Object, value, "status", field); err != nil {
			panic(err)
		}
	}
}

// The status has the observed generation and the problems, and keeps the fields of other components.
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

		// The follower does not replace the error of another component if it has no problem to report.
		c.edit(setStatus("error", "porch-server: no such function"))
		c.put("a", "{image: a, binaryExecutor: {tags: [v2], path: a}}")
		c.wantStatus("a", "porch-server: no such function")
		want := map[string]any{"apiServerObservedGeneration": int64(7), "functionRunnerObservedGeneration": c.get("a").GetGeneration(), "error": "porch-server: no such function"}
		if diff := cmp.Diff(want, c.get("a").Object["status"]); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
		if n := c.patches(); n != 3 {
			t.Errorf("patches = %d, want 3", n)
		}
		if n := r.logged("has problems"); n != 1 {
			t.Errorf("the problem was logged %d times, want once", n)
		}
	})
}

// Replicas that agree write a status once. Replicas that disagree do not overwrite each other continuously.
func TestReplicas(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		replicas := []*replica{start(t, c), start(t, c), start(t, c)}
		c.put("a", binaryA)
		c.wantStatus("a", "")
		time.Sleep(time.Hour)
		version := c.get("a").GetResourceVersion()
		if version != "2" {
			t.Errorf("resource version = %s, want 2, after one patch", version)
		}
		before := c.patches()
		// The test does not depend on which replica writes last.
		replicas[0].has(false)
		time.Sleep(time.Hour)
		synctest.Wait()
		// Each replica may write once every 10 minutes.
		if n := c.patches() - before; n > 3*7 {
			t.Errorf("patches in an hour by disagreeing replicas = %d, want at most %d", n, 3*7)
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
			t.Errorf("patches by agreeing replicas = %d, want 0", n)
		}
		c.wantStatus("a", "function-runner: spec.binaryExecutor.path: executable a is missing")
	})
}

// A deleted status is written again after repeatAfter.
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

// A status is not written to a later version of its object, and the rate limit applies to many objects.
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
				return true, nil, apierrors.NewConflict(functionconfig.Resource.GroupResource(), "a", errors.New("another version"))
			}
			return false, nil, nil
		})
		r := start(t, c)
		if n := c.patches(); n > writeBurst {
			t.Errorf("initial patches = %d, want at most %d", n, writeBurst)
		}
		time.Sleep(objects/writesPerSecond*time.Second + recheckInterval)
		synctest.Wait()
		for i := range objects {
			c.wantStatus("a"+strings.Repeat("a", i), "")
		}
		if n := c.patches(); n != objects+1 || r.logged("level=WARN") != 0 {
			t.Errorf("patches = %d, want %d without warnings:\n%s", n, objects+1, &r.log)
		}
	})
}

// A missing permission to patch is logged once. The objects still take effect.
func TestWritingIsForbidden(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		c.PrependReactor("patch", "functionconfigs", func(kubetesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(functionconfig.Resource.GroupResource(), "", errors.New("no"))
		})
		c.put("a", binaryA)
		c.put("b", podB)
		r := start(t, c)
		wantFunctions(t, r, map[string]string{"r.io/a:v1": "/functions/a"})
		time.Sleep(time.Hour)
		if n := r.logged("level=WARN"); n != 1 || r.logged("patch on functionconfigs/status") != 1 {
			t.Errorf("warnings = %d, want 1:\n%s", n, &r.log)
		}
		if n := c.patches(); n > 2*7 {
			t.Errorf("attempts in an hour = %d, want at most %d", n, 2*7)
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
			t.Errorf("text() = %q of %d bytes, want %q", got, len(got), tc.want)
		}
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfigs

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	kubetesting "k8s.io/client-go/testing"

	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
)

// wantReloads checks the number of effective reloads, and the error of the last reload. An empty problem means no error.
func wantReloads(t *testing.T, r *replica, changes int, problem string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changes != changes {
		t.Errorf("effective reloads = %d, want %d", r.changes, changes)
	}
	if problem == "" && r.reload != nil || problem != "" && (r.reload == nil || !strings.Contains(r.reload.Error(), problem)) {
		t.Errorf("error of the last reload = %v, want %q", r.reload, problem)
	}
}

// Reloaded reports effective changes, and objects with problems until they are fixed or deleted.
func TestReloads(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *cluster) {
		c.put("a", binaryA)
		r := start(t, c)
		wantReloads(t, r, 1, "")
		time.Sleep(10 * recheckInterval)
		wantReloads(t, r, 1, "")
		c.put("b", podB)
		wantReloads(t, r, 2, "")
		c.put("c", "{image: c, binaryExecutor: {path: c}}")
		wantReloads(t, r, 2, "FunctionConfig objects have problems: c")
		c.put("b", "{image: b, podExecutor: {timeToLive: soon}}")
		wantReloads(t, r, 3, "FunctionConfig objects have problems: b, c")
		c.remove("c")
		c.remove("b")
		wantReloads(t, r, 4, "")
		r.has(false)
		wantReloads(t, r, 5, "FunctionConfig objects have problems: a")
		r.stop()
		wantReloads(t, r, 5, "FunctionConfig objects have problems: a")
	})
}

// A failed watch is a failed reload, but a cluster that does not serve the resource is none.
func TestReloadsThatFail(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		served  bool
		down    error
		refuse  error
		problem string
	}{
		"forbidden":  {served: true, refuse: apierrors.NewForbidden(functionconfig.Resource.GroupResource(), "", errors.New("no")), problem: "forbidden"},
		"down":       {down: errors.New("connection refused"), problem: "connection refused"},
		"not served": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *cluster) {
				c.set(tc.served, tc.down)
				c.PrependReactor("list", "functionconfigs", func(kubetesting.Action) (bool, runtime.Object, error) {
					return tc.refuse != nil, nil, tc.refuse
				})
				r := start(t, c)
				<-r.Tried()
				synctest.Wait()
				wantReloads(t, r, 0, tc.problem)
			})
		})
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"testing"

	"github.com/krmfn/krmfn/services/render"
)

func TestPackagesAreCountedAsKptDoes(t *testing.T) {
	t.Parallel()
	depthFirst := []render.PlannedPackage{
		{Package: "a/b/c", Depth: 3}, {Package: "a/b", Depth: 2}, {Package: "a", Depth: 1}, {Package: "ab", Depth: 1}, {Package: "."},
	}
	for name, tc := range map[string]struct {
		planned []render.PlannedPackage
		begun   []string
		want    int
	}{
		"no render":                          {},
		"none has begun":                     {planned: depthFirst, want: 1},
		"one begins, those above are read":   {planned: depthFirst, begun: []string{"a/b/c"}, want: 4},
		"a name that begins like another's":  {planned: depthFirst, begun: []string{"ab"}, want: 2},
		"all":                                {planned: depthFirst, begun: []string{"a/b/c", "a/b", "a", "ab", "."}, want: 5},
		"breadth first, all are read before": {planned: []render.PlannedPackage{{Package: "."}, {Package: "a", Depth: 1}}, begun: []string{"."}, want: 2},
	} {
		var w Work
		w.Observe(&render.Started{Packages: tc.planned})
		for _, dir := range tc.begun {
			w.Observe(&render.PackageStarted{PlannedPackage: render.PlannedPackage{Package: dir}})
		}
		if got := w.packages(); got != tc.want {
			t.Errorf("%s: %d packages, want %d", name, got, tc.want)
		}
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfig_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
	"github.com/krmfn/krmfn/internal/traits"
)

type fields = map[string]any

func TestDecode(t *testing.T) {
	t.Parallel()
	u := &unstructured.Unstructured{Object: fields{"spec": fields{
		"image": "set-x", "prefixes": []any{"", "other.io/y/"}, "later": "unknown",
		"binaryExecutor": fields{"tags": []any{"v1"}, "path": "set-x"},
		"podExecutor": fields{
			"tags": []any{"v1", "v2"}, "timeToLive": "5m", "maxParallelExecutions": int64(4), "preferredMaxQueueLength": "secret",
			"templateOverrides": fields{"serviceAccountName": "sa", "container": "secret"},
		},
	}}}
	declared := map[string]string{traits.WorkerLabel: "true"}
	u.SetAnnotations(declared)
	want := functionconfig.Object{
		Image: "set-x", Prefixes: []string{"", "other.io/y/"}, Declared: declared,
		Binary: &functionconfig.BinaryExecutor{Tags: []string{"v1"}, Path: "set-x"},
		Pod: &functionconfig.PodExecutor{Tags: []string{"v1", "v2"}, Settings: functionconfig.Settings{
			TTL: 5 * time.Minute, MaxPods: 4, Overrides: &functionconfig.Overrides{ServiceAccountName: "sa"}, Declared: declared,
		}},
	}
	wantProblems := []functionconfig.Problem{
		{Field: "spec.podExecutor.preferredMaxQueueLength", Text: "is no number up to 2147483647"},
		{Field: "spec.podExecutor.templateOverrides.container", Text: "is no object"},
	}
	got, problems := functionconfig.Decode(u)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Decode() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantProblems, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestRepositories(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		object   functionconfig.Object
		want     []string
		problems int
	}{
		"no prefix":        {functionconfig.Object{Image: "a"}, []string{"r.io/fn/a"}, 0},
		"prefixes":         {functionconfig.Object{Image: "a", Prefixes: []string{"x.io/", "", "x.io"}}, []string{"x.io/a", "r.io/fn/a"}, 0},
		"invalid prefix":   {functionconfig.Object{Image: "a", Prefixes: []string{"https://x.io", "y.io"}}, []string{"y.io/a"}, 1},
		"image with a tag": {functionconfig.Object{Image: "a:v1"}, nil, 1},
		"no image":         {functionconfig.Object{}, nil, 0},
	} {
		got, problems := tc.object.Repositories("r.io/fn")
		if diff := cmp.Diff(tc.want, got); diff != "" || len(problems) != tc.problems {
			t.Errorf("%s: problems = %v, want %d, repositories (-want +got):\n%s", name, problems, tc.problems, diff)
		}
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package prepull_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/image-warmer/internal/prepull"
	"github.com/krmfn/krmfn/image-warmer/internal/report"
	"github.com/krmfn/krmfn/internal/images/registry"
)

func digest(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }

func image(ref, digit string, platforms ...string) registry.Image {
	return registry.Image{Reference: ref, Digest: digest(digit), Command: []string{"/fn"}, Platforms: platforms}
}

// node returns a node that can pull, after applying changes.
func node(name string, changes ...func(*corev1.Node)) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.NodeInfo = corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64"}
	n.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue}, {Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse},
	}
	for _, change := range changes {
		change(&n)
	}
	return n
}

func condition(kind corev1.NodeConditionType, status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = append([]corev1.NodeCondition{{Type: kind, Status: status}}, n.Status.Conditions...)
		for i, c := range n.Status.Conditions[1:] {
			if c.Type == kind {
				n.Status.Conditions[i+1].Status = status
			}
		}
	}
}

func taint(key, value string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: effect})
	}
}

func has(names ...string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: names}) }
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func architecture(name string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.NodeInfo.Architecture = name }
}

// Nodes that have the image or cannot pull it are skipped with a reason.
func TestPlanNodes(t *testing.T) {
	t.Parallel()
	exists := corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists}
	equal := corev1.Toleration{Key: "team", Operator: corev1.TolerationOpEqual, Value: "a", Effect: corev1.TaintEffectNoExecute}
	const pull, present = "pull", "present"
	for _, tc := range []struct {
		name  string
		node  corev1.Node
		image registry.Image
		want  string
	}{
		{"ready", node("n"), image("r.io/a:v1", "1", "linux/amd64"), pull},
		{"not ready", node("n", condition(corev1.NodeReady, corev1.ConditionUnknown)), image("r.io/a:v1", "1"), "not ready"},
		{"cordoned", node("n", cordoned, taint("node.kubernetes.io/unschedulable", "", corev1.TaintEffectNoSchedule)), image("r.io/a:v1", "1"), "cordoned"},
		{"disk pressure", node("n", condition(corev1.NodeDiskPressure, corev1.ConditionTrue)), image("r.io/a:v1", "1"), "DiskPressure"},
		{"memory pressure", node("n", condition(corev1.NodeMemoryPressure, corev1.ConditionTrue)), image("r.io/a:v1", "1"), pull},
		{"tainted", node("n", taint("x", "y", corev1.TaintEffectNoSchedule)), image("r.io/a:v1", "1"), "taint x=y:NoSchedule"},
		{"tolerated", node("n", taint("gpu", "y", corev1.TaintEffectNoSchedule)), image("r.io/a:v1", "1"), pull},
		{"tolerated by value", node("n", taint("team", "a", corev1.TaintEffectNoExecute)), image("r.io/a:v1", "1"), pull},
		{"another value", node("n", taint("team", "b", corev1.TaintEffectNoExecute)), image("r.io/a:v1", "1"), "taint team=b:NoExecute"},
		{"another effect", node("n", taint("team", "a", corev1.TaintEffectNoSchedule)), image("r.io/a:v1", "1"), "taint team=a:NoSchedule"},
		{"preference", node("n", taint("x", "", corev1.TaintEffectPreferNoSchedule)), image("r.io/a:v1", "1"), pull},
		{"another platform", node("n", architecture("arm64")), image("r.io/a:v1", "1", "linux/amd64"), "do not run on linux/arm64"},
		{"a variant", node("n", architecture("arm64")), image("r.io/a:v1", "1", "linux/amd64", "linux/arm64/v8"), pull},
		{"a longer name", node("n", architecture("arm")), image("r.io/a:v1", "1", "linux/arm64"), "do not run on linux/arm"},
		{"no platforms", node("n", architecture("arm64")), image("r.io/a:v1", "1"), pull},
		{"an unknown node", node("n", architecture("")), image("r.io/a:v1", "1", "linux/arm64"), pull},
		{"present", node("n", has("r.io/a:v0", "r.io/a@"+digest("1"))), image("r.io/a:v1", "1"), present},
		{"present, cordoned", node("n", cordoned, has("r.io/a@"+digest("1"))), image("r.io/a:v1", "1"), present},
		{"a short name", node("n", has("docker.io/library/a@"+digest("1"))), image("a:v1", "1"), present},
		{"another repository", node("n", has("r.io/b@"+digest("1"))), image("r.io/a:v1", "1"), pull},
		{"by tag only", node("n", has("r.io/a:v1")), image("r.io/a:v1", "1"), pull},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			plan := prepull.NewPlan([]corev1.Node{tc.node}, []registry.Image{tc.image}, []corev1.Toleration{exists, equal})
			if len(plan.Pulls)+len(plan.Skips) != 1 {
				t.Fatalf("plan = %+v, want one pull or skip", plan)
			}
			if len(plan.Pulls) == 1 {
				if tc.want != pull {
					t.Errorf("the image is pulled, want %s", tc.want)
				}
				return
			}
			skip := plan.Skips[0]
			if (skip.Result == report.Present) != (tc.want == present) || skip.Result == report.Skipped && !strings.Contains(skip.Err.Error(), tc.want) {
				t.Errorf("skip = %+v, want %s", skip, tc.want)
			}
		})
	}
}

// An image is pulled once for all its references, and on all nodes before the next image.
func TestPlanOrder(t *testing.T) {
	t.Parallel()
	plan := prepull.NewPlan(
		[]corev1.Node{node("b"), node("a"), node("c", cordoned)},
		[]registry.Image{image("r.io/y:v1", "2"), image("r.io/x:v1", "1"), image("r.io/y:latest", "2")}, nil)
	x, y := "r.io/x@"+digest("1"), "r.io/y@"+digest("2")
	xs, ys := []string{"r.io/x:v1"}, []string{"r.io/y:v1", "r.io/y:latest"}
	want := prepull.Plan{
		Pulls: []prepull.Pull{{"a", x, xs}, {"b", x, xs}, {"a", y, ys}, {"b", y, ys}},
		Skips: []prepull.Outcome{
			{Pull: prepull.Pull{Node: "c", Image: x, References: xs}, Result: report.Skipped, Err: errors.New("the node is cordoned")},
			{Pull: prepull.Pull{Node: "c", Image: y, References: ys}, Result: report.Skipped, Err: errors.New("the node is cordoned")},
		},
	}
	if diff := cmp.Diff(want, plan, cmp.Comparer(func(a, b error) bool { return a.Error() == b.Error() })); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package chart tests what the Helm chart renders, without a cluster.
package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/action"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/install"
)

func TestChartIsClean(t *testing.T) {
	t.Parallel()
	lint := action.NewLint()
	lint.Strict, lint.Namespace = true, install.Namespace
	if result := lint.Run([]string{chartDir(t)}, nil); len(result.Errors) > 0 {
		t.Error(result.Errors)
	}
}

// stock lists the objects that the chart renders with default values: the objects of Porch's own function runner installation, the
// additional objects of the function runner, and the pod janitor.
var stock = []string{
	"CronJob porch-system/pod-janitor",
	"Role porch-fn-system/pod-janitor",
	"Role porch-system/pod-janitor",
	"RoleBinding porch-fn-system/pod-janitor",
	"RoleBinding porch-system/pod-janitor",
	"ServiceAccount porch-system/pod-janitor",
	"ConfigMap porch-system/pod-cache-config",
	"Deployment porch-system/function-runner",
	"Namespace /porch-fn-system",
	"NetworkPolicy porch-fn-system/krmfn-functions",
	"NetworkPolicy porch-system/krmfn-function-runner",
	"NetworkPolicy porch-system/krmfn-pod-janitor",
	"PodDisruptionBudget porch-system/function-runner",
	"Role porch-fn-system/krmfn-function-runner",
	"Role porch-system/krmfn-function-runner",
	"RoleBinding porch-fn-system/krmfn-function-runner",
	"RoleBinding porch-system/krmfn-function-runner",
	"Secret porch-system/function-pod-ca",
	"Service porch-system/function-runner",
	"Service porch-system/function-runner-headless",
	"ServiceAccount porch-system/porch-fn-runner",
}

func TestObjects(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values        map[string]any
		more, without []string
	}{
		"defaults":       {},
		"no TLS of pods": {values: map[string]any{"pods": map[string]any{"tls": map[string]any{"mode": "off"}}}},
		"authority of another's": {
			values:  map[string]any{"pods": map[string]any{"tls": map[string]any{"existingSecret": "ours"}}},
			without: []string{"Secret porch-system/function-pod-ca"},
		},
		"one replica":  {values: map[string]any{"replicas": 1}, without: []string{"PodDisruptionBudget porch-system/function-runner"}},
		"no namespace": {values: map[string]any{"functionNamespace": map[string]any{"create": false}}, without: []string{"Namespace /porch-fn-system"}},
		"no policies": {
			values: map[string]any{"networkPolicy": map[string]any{"enabled": false}},
			without: []string{
				"NetworkPolicy porch-fn-system/krmfn-functions", "NetworkPolicy porch-system/krmfn-function-runner", "NetworkPolicy porch-system/krmfn-pod-janitor",
			},
		},
		"template of another's": {values: map[string]any{"functionPodTemplate": map[string]any{"name": "ours"}}},
		"function pods": {
			values: map[string]any{"functionPods": map[string]any{"defaults": map[string]any{"spec": map[string]any{"hostUsers": false}}}},
			more:   []string{"ConfigMap porch-system/krmfn-function-pods"},
		},
		"template": {
			values: map[string]any{"functionPodTemplate": map[string]any{"pod": map[string]any{"kind": "Pod"}}},
			more:   []string{"ConfigMap porch-system/krmfn-function-pod-template"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, err := render(t, test.values)
			if err != nil {
				t.Fatal(err)
			}
			want := append(slices.Clone(test.more), stock...)
			want = slices.DeleteFunc(want, func(name string) bool { return slices.Contains(test.without, name) })
			slices.Sort(want)
			got := make([]string, 0, len(objects))
			for object := range objects {
				got = append(got, object)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnknownValuesAreErrors(t *testing.T) {
	t.Parallel()
	for value, values := range map[string]map[string]any{
		"replica":     {"replica": 2},
		"timetolive":  {"pods": map[string]any{"timetolive": "1m"}},
		"frontend":    {"pods": map[string]any{"frontend": "ingress"}},
		"ttl":         {"pods": map[string]any{"ttl": "30"}},
		"warmPods":    {"functions": []any{map[string]any{"name": "a/b:v1", "warmPods": 1}}},
		"hostPID":     {"functionPods": map[string]any{"defaults": map[string]any{"spec": map[string]any{"hostPID": true}}}},
		"selector":    {"functionPods": map[string]any{"overrides": []any{map[string]any{"images": []any{"a/b"}, "selector": "x"}}}},
		"images":      {"functionPods": map[string]any{"overrides": []any{map[string]any{"spec": map[string]any{"hostUsers": false}}}}},
		"podSecurity": {"functionNamespace": map[string]any{"podSecurity": "none"}},
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), value) {
				t.Errorf("error = %v, want one that names %s", err, value)
			}
		})
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	objects, err := render(t, map[string]any{
		"pods":                map[string]any{"ttl": "1h", "warmUp": false},
		"functionPodTemplate": map[string]any{"pod": map[string]any{"kind": "Pod"}},
		"maxRequestBodySize":  float64(20000000),
		"extraArgs":           []any{"--disable-runtimes=exec"},
		"image":               map[string]any{"registry": "example.org/krm", "tag": "v1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	if err := yaml.UnmarshalStrict([]byte(objects["Deployment porch-system/function-runner"]), &deployment); err != nil {
		t.Fatal(err)
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	for _, want := range []string{
		"--pod-ttl=1h", "--warm-up-pod-cache=false", "--function-pod-template=krmfn-function-pod-template",
		"--max-request-body-size=20000000", "--pod-namespace=porch-fn-system",
	} {
		if !slices.Contains(container.Command, want) {
			t.Errorf("command line lacks %s: %q", want, container.Command)
		}
	}
	if last := container.Command[len(container.Command)-1]; last != "--disable-runtimes=exec" {
		t.Errorf("last flag = %s, want the flag in extraArgs", last)
	}
	if got := []string{container.Image, container.Env[0].Value}; !slices.Equal(got,
		[]string{"example.org/krm/function-runner:v1", "example.org/krm/wrapper-server:v1"}) {
		t.Errorf("images = %q, want v1 images in example.org/krm", got)
	}
}

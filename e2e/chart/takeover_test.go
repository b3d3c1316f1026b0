// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic/fake"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
)

// porch returns the objects in Porch's own manifests.
func porch(t *testing.T) []*object {
	t.Helper()
	checkout, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(checkout, "e2e", "install", "testdata", "porch.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := readManifests(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// renderFile renders one template of the chart like helm upgrade in a cluster with a Deployment.
func renderFile(t *testing.T, file string, given map[string]any, deployment *object) string {
	t.Helper()
	parsed := loadChart(t)
	values, err := chartutil.ToRenderValuesWithSchemaValidation(parsed, given,
		chartutil.ReleaseOptions{Name: install.ReleaseName, Namespace: install.Namespace, IsUpgrade: true}, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.RenderWithClientProvider(parsed, values, cluster{fake.NewSimpleDynamicClient(runtime.NewScheme(), deployment.DeepCopy())})
	if err != nil {
		t.Fatal(err)
	}
	return files["krmfn/templates/"+file]
}

// Function runners of Porch must work until one of krmfn is ready: a Service needs no port that they do not name, and their Roles stay.
func TestTakeoverKeepsObjectsOfPorch(t *testing.T) {
	t.Parallel()
	var shared []string
	for _, o := range porch(t) {
		shared = append(shared, o.String())
	}
	eachRendering(t, func(t *testing.T, r *rendering) {
		for _, o := range r.objects {
			if strings.HasPrefix(o.GetKind(), "Role") && slices.Contains(shared, o.String()) {
				t.Errorf("%s replaces Porch's", o)
			}
			if o.GetKind() != "Service" || !strings.HasPrefix(o.GetName(), "function-runner") {
				continue
			}
			for _, port := range as[corev1.Service](t, o).Spec.Ports {
				if port.TargetPort != intstr.FromInt32(9445) {
					t.Errorf("%s: targetPort = %s, want 9445", o, port.TargetPort.String())
				}
				if port.Name != "" && slices.Contains(shared, o.String()) {
					t.Errorf("%s: the port is named %s, and Porch's has no name", o, port.Name)
				}
			}
		}
	})
}

// Porch's pods keep their number and their namespace's Pod Security Standard until the next upgrade.
func TestTakeoverKeepsReplicas(t *testing.T) {
	t.Parallel()
	ours := named(t, renderOnce(t, nil), "Deployment "+install.Namespace+"/function-runner")
	isRunner := func(o *object) bool { return o.GetKind() == "Deployment" }
	theirs := porch(t)[slices.IndexFunc(porch(t), isRunner)]
	with := func(o *object, value any, path ...string) *object {
		changed := &object{Unstructured: unstructured.Unstructured{Object: o.DeepCopy().Object}}
		if err := unstructured.SetNestedField(changed.Object, value, path...); err != nil {
			t.Fatal(err)
		}
		return changed
	}
	taken := with(with(with(ours, "", "metadata", "annotations", "krmfn.dev/takeover"), int64(2), "spec", "replicas"), int64(2), "status", "updatedReplicas")
	for name, test := range map[string]struct {
		there *object
		want  string
		stays bool
	}{
		"Porch's":                 {theirs, "replicas: 1\n", true},
		"Porch's, scaled up":      {with(theirs, int64(5), "spec", "replicas"), "replicas: 5\n", true},
		"Porch's, scaled to zero": {with(theirs, int64(0), "spec", "replicas"), "replicas: 3\n", false},
		"still Porch's pods":      {with(taken, int64(3), "status", "replicas"), "replicas: 2\n", true},
		"not observed":            {with(with(taken, int64(2), "status", "replicas"), int64(7), "metadata", "generation"), "replicas: 2\n", true},
		"taken over":              {with(taken, int64(2), "status", "replicas"), "replicas: 3\n", false},
		"krmfn's":                 {ours, "replicas: 3\n", false},
	} {
		values := parseValues(t, "replicas: 3")
		got := renderFile(t, "function-runner/deployment.yaml", values, test.there)
		if !strings.Contains(got, test.want) || strings.Contains(got, "krmfn.dev/takeover") != test.stays {
			t.Errorf("%s: the Deployment does not have %q, or has the annotation krmfn.dev/takeover = %t:\n%s", name, test.want, !test.stays, got)
		}
		scaled := parseValues(t, "autoscaling: {enabled: true}")
		if got := renderFile(t, "function-runner/horizontalpodautoscaler.yaml", scaled, test.there); strings.Contains(got, "kind:") == test.stays {
			t.Errorf("%s: has an autoscaler = %t, want %t", name, test.stays, !test.stays)
		}
		if got := renderFile(t, "functions/namespace.yaml", values, test.there); strings.Contains(got, "pod-security") == test.stays {
			t.Errorf("%s: the namespace has a Pod Security Standard = %t, want %t", name, test.stays, !test.stays)
		}
		if got := renderFile(t, "NOTES.txt", values, test.there); strings.Contains(got, "helm upgrade") != test.stays {
			t.Errorf("%s: the notes ask for an upgrade = %t, want %t:\n%s", name, !test.stays, test.stays, got)
		}
	}
}

// The chart keeps the objects in Porch's manifests and the objects that callers may still use. The uninstall hook does not stop Porch's
// function runner, but waits for krmfn's.
func TestReturnToPorch(t *testing.T) {
	t.Parallel()
	for values, more := range map[string][]string{
		variants["going back"]: nil,
		"{keepPorchObjects: true, functionPodTemplate: {name: theirs, pod: {kind: Pod}}}": {"ConfigMap porch-system/theirs"},
		"{keepPorchObjects: true, autoscaling: {enabled: true}}":                          nil,
	} {
		r := renderOnce(t, parseValues(t, values))
		var kept []string
		for _, o := range r.objects {
			if o.GetAnnotations()["helm.sh/resource-policy"] == "keep" {
				kept = append(kept, o.String())
			}
		}
		want := append(more, //nolint:gocritic // the order does not matter
			"ConfigMap porch-system/pod-cache-config", "Deployment porch-system/function-runner", "Namespace /porch-fn-system",
			"Service porch-system/function-runner", "Service porch-system/function-runner-headless", "ServiceAccount porch-system/porch-fn-runner")
		slices.Sort(want)
		slices.Sort(kept)
		if diff := cmp.Diff(want, kept); diff != "" {
			t.Errorf("%s: kept objects (-want +got):\n%s", values, diff)
		}
		// It would scale Porch's Deployment.
		if autoscalers := r.of("HorizontalPodAutoscaler"); len(autoscalers) > 0 {
			t.Errorf("%s: the chart has an autoscaler: %v", values, autoscalers)
		}
		o := uninstallation(t, r)
		if len(o.StopDeployments) > 0 || o.SecretName != "" {
			t.Errorf("%s: the uninstall hook stops %q and deletes the pull secret %q, want none", values, o.StopDeployments, o.SecretName)
		}
		if diff := cmp.Diff([]string{"porch-system/app=function-runner,app.kubernetes.io/name=krmfn"}, o.AwaitPods); diff != "" {
			t.Errorf("%s: pods that the uninstall hook waits for (-want +got):\n%s", values, diff)
		}
	}
}

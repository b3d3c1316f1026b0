// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
)

// object is one that the chart makes.
type object struct {
	unstructured.Unstructured
	// manifest is the text that it is read from.
	manifest string
}

// String is KIND NAMESPACE/NAME.
func (o *object) String() string { return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName() }

// as returns the object as a type of Kubernetes; a field that it does not have fails the test.
func as[T any](t *testing.T, o *object) *T {
	t.Helper()
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, typed, true); err != nil {
		t.Fatalf("%s: %v", o, err)
	}
	return typed
}

// rendering is what the chart makes of values.
type rendering struct {
	// given are the values, and values those with the chart's own.
	given, values map[string]any
	// text is all that goes to a cluster, and notes what people read.
	text, notes string
	// objects are in the order in which they are installed, hooks last.
	objects []*object
}

// of returns the objects of one kind.
func (r *rendering) of(kind string) []*object {
	return slices.DeleteFunc(slices.Clone(r.objects), func(o *object) bool { return o.GetKind() != kind })
}

// renderChart renders as helm install does.
func renderChart(t *testing.T, given map[string]any) (*rendering, error) {
	t.Helper()
	parsed, err := loader.LoadDir(chartDir(t))
	if err != nil {
		return nil, err
	}
	dry := action.NewInstall(new(action.Configuration))
	dry.ClientOnly, dry.DryRun, dry.ReleaseName, dry.Namespace = true, true, install.ReleaseName, install.Namespace
	dry.KubeVersion = &chartutil.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}
	made, err := dry.RunWithContext(t.Context(), parsed, given)
	if err != nil {
		return nil, err
	}
	r := &rendering{given: given, text: made.Manifest, notes: made.Info.Notes}
	for _, hook := range made.Hooks {
		r.text += "---\n" + hook.Manifest + "\n"
	}
	if r.values, err = chartutil.CoalesceValues(parsed, given); err != nil {
		return nil, err
	}
	manifests := releaseutil.SplitManifests(r.text)
	for number := range len(manifests) {
		one := &object{manifest: manifests[fmt.Sprintf("manifest-%d", number)]}
		if err := yaml.UnmarshalStrict([]byte(one.manifest), &one.Object); err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, one.manifest)
		}
		r.objects = append(r.objects, one)
	}
	return r, nil
}

// render returns what the chart makes of values but for hooks, by KIND NAMESPACE/NAME.
func render(t *testing.T, values map[string]any) (map[string]string, error) {
	t.Helper()
	r, err := renderChart(t, values)
	if err != nil {
		return nil, err
	}
	objects := map[string]string{}
	for _, o := range r.objects {
		if !strings.Contains(o.manifest, "helm.sh/hook:") {
			objects[o.String()] = o.manifest
		}
	}
	return objects, nil
}

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	parsed, err := loader.LoadDir(chartDir(t))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func chartDir(t *testing.T) string { return inCheckout(t, "charts", "krmfn") }

// inCheckout returns the path of a file of this repository.
func inCheckout(t *testing.T, elements ...string) string {
	t.Helper()
	checkout, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(append([]string{checkout}, elements...)...)
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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

// object is an object that the chart renders.
type object struct {
	unstructured.Unstructured
	// manifest is the rendered YAML text.
	manifest string
}

// String returns KIND NAMESPACE/NAME.
func (o *object) String() string { return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName() }

// as converts the object to a Kubernetes type. It fails the test if the object has an unknown field.
func as[T any](t *testing.T, o *object) *T {
	t.Helper()
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, typed, true); err != nil {
		t.Fatalf("%s: %v", o, err)
	}
	return typed
}

// rendering is the result of rendering the chart.
type rendering struct {
	// given holds the values of the user. values holds them merged with the chart's defaults.
	given, values map[string]any
	// text is the YAML of all objects, including hooks. notes is the text of NOTES.txt.
	text, notes string
	// objects are in installation order, hooks last.
	objects []*object
}

// of returns the objects of a kind.
func (r *rendering) of(kind string) []*object {
	return slices.DeleteFunc(slices.Clone(r.objects), func(o *object) bool { return o.GetKind() != kind })
}

// renderChart renders the chart like helm install with the default release name and namespace.
func renderChart(t *testing.T, given map[string]any) (*rendering, error) {
	t.Helper()
	return renderIn(t, install.Namespace, given)
}

// renderIn renders the chart like helm install with the default release name and the given namespace.
func renderIn(t *testing.T, namespace string, given map[string]any) (*rendering, error) {
	t.Helper()
	return renderRelease(t, install.ReleaseName, namespace, given)
}

// renderRelease renders the chart like helm install with the given release name and namespace.
func renderRelease(t *testing.T, name, namespace string, given map[string]any) (*rendering, error) {
	t.Helper()
	parsed := loadChart(t)
	dry := action.NewInstall(new(action.Configuration))
	dry.ClientOnly, dry.DryRun, dry.ReleaseName, dry.Namespace = true, true, name, namespace
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
	r.objects, err = readManifests(r.text)
	return r, err
}

// readManifests parses the objects in a text, in their order.
func readManifests(text string) ([]*object, error) {
	manifests := releaseutil.SplitManifests(text)
	objects := make([]*object, len(manifests))
	for number := range objects {
		one := &object{manifest: manifests[fmt.Sprintf("manifest-%d", number)]}
		if err := yaml.UnmarshalStrict([]byte(one.manifest), &one.Object); err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, one.manifest)
		}
		objects[number] = one
	}
	return objects, nil
}

// render returns the manifests of all objects except hooks, keyed by KIND NAMESPACE/NAME.
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

// chartArchive returns the packaged chart. It reads the chart's directory once.
var chartArchive = sync.OnceValues(func() ([]byte, error) {
	checkout, err := binaries.Root()
	if err != nil {
		return nil, err
	}
	parsed, err := loader.LoadDir(filepath.Join(checkout, "charts", "krmfn"))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "krmfn-chart-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	file, err := chartutil.Save(parsed, dir)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	archive, err := chartArchive()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := loader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func chartDir(t *testing.T) string { return inCheckout(t, "charts", "krmfn") }

// inCheckout returns the path of a file in this repository.
func inCheckout(t *testing.T, elements ...string) string {
	t.Helper()
	checkout, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(append([]string{checkout}, elements...)...)
}

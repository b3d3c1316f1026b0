// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/krmfn/krmfn/image-warmer/internal/images"
	"github.com/krmfn/krmfn/image-warmer/options"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func kptfile(pipeline string) string {
	return "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\npipeline:\n" + pipeline
}

func TestArguments(t *testing.T) {
	t.Parallel()
	found := images.Collect(t.Context(), images.Config{
		Sources: options.Sources{Images: []string{"set-labels:v1", "r.io/b:v1", "r.io/b:v1", "a", "BAD:v1", "b c", ""}}, Prefix: "p.io/fn/",
	})
	want(t, found, true, []string{"p.io/fn/a", "p.io/fn/set-labels:v1", "r.io/b:v1"}, map[string]string{
		"BAD:v1": "invalid", "b c": "not allowed in a reference", "": "image is empty",
	})
}

// want checks the result. failures maps images to texts in their reasons.
func want(t *testing.T, found images.Found, complete bool, references []string, failures map[string]string) {
	t.Helper()
	if diff := cmp.Diff(references, found.References); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	if found.Complete != complete {
		t.Errorf("Complete = %v, want %v", found.Complete, complete)
	}
	if len(found.Failures) != len(failures) {
		t.Errorf("Failures = %v, want %v", found.Failures, failures)
	}
	for _, f := range found.Failures {
		if text, ok := failures[f.Image]; !ok || !strings.Contains(f.Reason, text) {
			t.Errorf("reason for %q = %q, want %q", f.Image, f.Reason, text)
		}
	}
}

func TestPodCacheConfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tc := range []struct {
		name, text string
		references []string
		complete   bool
		notes      int
	}{
		{"a list", "- name: a:v1\n  timeToLive: nonsense\n- name: r.io/b:v1\n- {}\n- text\n- name: [1]\n", []string{"p.io/a:v1", "r.io/b:v1"}, true, 1},
		{"a mapping", "r.io/b:v1: 30m\na: 5m\n", []string{"p.io/a", "r.io/b:v1"}, true, 0},
		{"nothing", "# nothing\n", nil, true, 0},
		{"text", "text", nil, false, 0},
		{"no YAML", "a: [", nil, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			file := write(t, filepath.Join(dir, tc.name), tc.text)
			failures := map[string]string{}
			if !tc.complete {
				failures[file] = "--pod-cache-config is invalid"
			}
			found := images.Collect(t.Context(), images.Config{Sources: options.Sources{PodCacheConfig: file}, Prefix: "p.io"})
			want(t, found, tc.complete, tc.references, failures)
			if len(found.Notes) != tc.notes {
				t.Errorf("Notes = %q, want others", found.Notes)
			}
		})
	}
	file := filepath.Join(dir, "none")
	want(t, images.Collect(t.Context(), images.Config{Sources: options.Sources{PodCacheConfig: file}}), false, nil, map[string]string{file: "no such file"})
}

func TestKptfiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "Kptfile"), kptfile("  mutators:\n  - image: set-labels:v1\n  - exec: ./x\n  - image: a\n    tag: v3\n"))
	write(t, filepath.Join(dir, "sub", "deep", "Kptfile"), kptfile("  validators:\n  - image: r.io/check\n  - image: r.io/check\n"))
	broken := write(t, filepath.Join(dir, "broken", "Kptfile"), kptfile("  nonsense: []\n"))
	write(t, filepath.Join(dir, ".git", "Kptfile"), "not one")
	write(t, filepath.Join(dir, "none", "deployment.yaml"), "image: c")
	found := images.Collect(t.Context(), images.Config{Sources: options.Sources{Kptfiles: []string{dir, filepath.Join(dir, "none")}}, Prefix: "p.io"})
	want(t, found, false, []string{"p.io/a:v3", "p.io/set-labels:v1", "r.io/check:latest"}, map[string]string{
		broken: "nonsense",
	})
	if len(found.Notes) != 1 || !strings.Contains(found.Notes[0], "no Kptfile") {
		t.Errorf("Notes = %q, want others", found.Notes)
	}
	missing := filepath.Join(dir, "missing")
	want(t, images.Collect(t.Context(), images.Config{Sources: options.Sources{Kptfiles: []string{missing}}}), false, nil, map[string]string{missing: "no such file"})
}

// lister holds the tags of repositories. Other repositories return an error.
type lister map[string][]string

func (l lister) Tags(_ context.Context, repository string) ([]string, error) {
	tags, ok := l[repository]
	if !ok {
		return nil, errors.New("no way to " + repository)
	}
	return tags, nil
}

func TestConstraints(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "Kptfile"), kptfile("  mutators:\n"+
		"  - {image: a, tag: ~1.2}\n  - {image: a, tag: '>=1'}\n  - {image: a, tag: ~1.2}\n  - {image: a, tag: '>7'}\n"))
	c := images.Config{
		Sources: options.Sources{Kptfiles: []string{dir}}, Prefix: "p.io", Parallel: 2, Timeout: time.Minute,
		Tags: lister{"p.io/a": {"v1.2.0", "v1.2.4", "v2.0.1", "latest"}},
	}
	want(t, images.Collect(t.Context(), c), true, []string{"p.io/a:v1.2.4", "p.io/a:v2.0.1"}, map[string]string{"p.io/a:>7": "highest version"})
	if err := c.Rewrites.Set("p.io=mirror.io/x"); err != nil {
		t.Fatal(err)
	}
	c.Images = []string{"b:v1", "r.io/c"}
	want(t, images.Collect(t.Context(), c), true, []string{"mirror.io/x/a:v1.2.4", "mirror.io/x/a:v2.0.1", "mirror.io/x/b:v1", "r.io/c"},
		map[string]string{"p.io/a:>7": "highest version"})
	// The tags cannot be read. The previous ones may still be valid.
	c.Tags, c.Images = lister{}, nil
	want(t, images.Collect(t.Context(), c), false, nil, map[string]string{"p.io/a": "no way to p.io/a"})
}

func functionConfig(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "FunctionConfig",
		"metadata": map[string]any{"name": name, "namespace": "fns"}, "spec": spec,
	}}
}

func client(objects ...runtime.Object) *fake.FakeDynamicClient {
	kinds := map[schema.GroupVersionResource]string{
		{Group: "config.porch.kpt.dev", Version: "v1alpha1", Resource: "functionconfigs"}: "FunctionConfigList",
	}
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
}

func TestFunctionConfigs(t *testing.T) {
	t.Parallel()
	tags := func(all ...any) map[string]any { return map[string]any{"tags": all} }
	elsewhere := functionConfig("elsewhere", map[string]any{"image": "x", "podExecutor": tags("v1")})
	elsewhere.SetNamespace("other")
	found := images.Collect(t.Context(), images.Config{Sources: options.Sources{FunctionConfigs: true}, Prefix: "p.io/", Namespace: "fns", Cluster: client(
		functionConfig("both", map[string]any{"image": "a", "prefixes": []any{"", "r.io/x/"}, "podExecutor": tags("v1", "v2")}),
		functionConfig("default", map[string]any{"image": "b", "podExecutor": tags("v1")}),
		functionConfig("binary", map[string]any{"image": "c", "binaryExecutor": tags("v1")}),
		functionConfig("tagless", map[string]any{"image": "d", "podExecutor": tags()}),
		functionConfig("odd", map[string]any{"image": "e", "podExecutor": "yes"}),
		functionConfig("bad", map[string]any{"image": "f", "podExecutor": tags("v 1")}),
		elsewhere,
	)})
	want(t, found, false, []string{"p.io/a:v1", "p.io/a:v2", "p.io/b:v1", "r.io/x/a:v1", "r.io/x/a:v2"}, map[string]string{
		"FunctionConfig odd": "spec.podExecutor is no object", "p.io/f:v 1": `tag "v 1"`,
	})
	if len(found.Notes) != 1 || !strings.Contains(found.Notes[0], "FunctionConfig tagless") {
		t.Errorf("Notes = %q, want others", found.Notes)
	}
}

// A cluster without Porch has no FunctionConfig objects. A cluster that does not answer may have some.
func TestFunctionConfigErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err      error
		complete bool
		notes    int
	}{
		{apierrors.NewNotFound(schema.GroupResource{Resource: "functionconfigs"}, ""), true, 1},
		{errors.New("no way"), false, 0},
	} {
		c := client()
		c.PrependReactor("list", "functionconfigs", func(kubetesting.Action) (bool, runtime.Object, error) { return true, nil, tc.err })
		found := images.Collect(t.Context(), images.Config{Sources: options.Sources{FunctionConfigs: true}, Cluster: c, Namespace: "fns"})
		if found.Complete != tc.complete || len(found.Notes) != tc.notes || (len(found.Failures) == 0) != tc.complete {
			t.Errorf("%v: Collect() = %+v, want Complete = %v and %d notes", tc.err, found, tc.complete, tc.notes)
		}
	}
}

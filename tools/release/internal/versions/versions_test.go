// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package versions_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/tools/release/internal/image"
	"github.com/krmfn/krmfn/tools/release/internal/versions"
)

const root = "../../../.."

func TestVersionsOfRepositoryMatchChart(t *testing.T) {
	t.Parallel()

	v, err := versions.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	chart, err := loader.LoadDir(filepath.Join(root, "charts/krmfn"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := "v"+chart.Metadata.Version, v.Chart; got != want {
		t.Errorf("Chart.yaml has version %s, %s has %s, want equal versions", got, versions.File, want)
	}
	// The chart of a checkout installs images of the checkout. Packaging sets the version.
	if got := chart.Metadata.AppVersion; got != "dev" {
		t.Errorf("Chart.yaml has appVersion %s, want dev", got)
	}
}

func TestVersionsOfRepositoryHaveAllImages(t *testing.T) {
	t.Parallel()

	v, err := versions.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	images, err := image.Sources{Functions: functions.All()}.Images()
	if err != nil {
		t.Fatal(err)
	}
	built := make(map[string]bool)
	for _, i := range images {
		built[i.Name] = true
	}
	named := make(map[string]bool)
	for _, name := range v.Names() {
		named[name] = true
	}
	if diff := cmp.Diff(built, named); diff != "" {
		t.Errorf("images (-built +in %s):\n%s", versions.File, diff)
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()

	tests := map[string]struct{ content, want string }{
		"empty":             {"", "EOF"},
		"unknown key":       {"chart: v0.1.0\nimage: {a: v0.1.0}\n", "field image not found"},
		"repeated key":      {"chart: v0.1.0\nimages: {a: v0.1.0, a: v0.1.1}\n", "already"},
		"no chart":          {"images: {a: v0.1.0}\n", `chart: "" is not a version`},
		"no images":         {"chart: v0.1.0\n", "images is empty"},
		"without v":         {"chart: v0.1.0\nimages: {a: 0.1.0}\n", `images: a: "0.1.0" is not a version`},
		"two numbers":       {"chart: v0.1\nimages: {a: v0.1.0}\n", `chart: "v0.1" is not a version`},
		"number":            {"chart: 1\nimages: {a: v0.1.0}\n", `chart: "1" is not a version`},
		"build metadata":    {"chart: v0.1.0+a\nimages: {a: v0.1.0}\n", "is not a version"},
		"another document":  {"chart: v0.1.0\nimages: {a: v0.1.0}\n---\nchart: v0.2.0\n", "more than one document"},
		"list for a map":    {"chart: v0.1.0\nimages: [a]\n", "cannot unmarshal"},
		"no Go":             {"chart: v0.1.0\nimages: {a: v0.1.0}\n", `go: "" is not a release`},
		"Go of two numbers": {"chart: v0.1.0\nimages: {a: v0.1.0}\ngo: 1.26\n", `go: "1.26" is not a release`},
		"module without v":  {"chart: v0.1.0\nimages: {a: v0.1.0}\nmodules: {b: 0.1.0}\n", `modules: b: "0.1.0" is not a version`},
		"two of one name":   {"chart: v0.1.0\nimages: {a: v0.1.0}\nmodules: {a: v0.2.0}\n", "modules: a: v0.2.0, but the image of that name has v0.1.0"},
		"version is absent": {"chart: v0.1.0\nimages: {a: }\n", `images: a: "" is not a version`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			path := filepath.Join(t.TempDir(), versions.File)
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			v, err := versions.Read(filepath.Dir(path))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("Read() = %+v, %v, want an error with the path and %q", v, err, test.want)
			}
		})
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()

	v := versions.Versions{
		Chart:   "v0.2.0",
		Images:  map[string]string{"a": "v0.2.0", "b": "v0.1.1", "c": "v0.2.0"},
		Modules: map[string]string{"b": "v0.1.1", "e": "v0.2.0", "f": "v0.1.0"},
	}
	all := versions.Release{Tag: "v0.2.0", Chart: true, Images: []string{"a", "c"}, Modules: []string{"e"}}
	tests := map[string]struct {
		tag  string
		want versions.Release
		err  string
	}{
		"no tag":              {tag: "", want: all},
		"chart":               {tag: "v0.2.0", want: all},
		"image and module":    {tag: "b/v0.1.1", want: versions.Release{Tag: "b/v0.1.1", Images: []string{"b"}, Modules: []string{"b"}}},
		"module":              {tag: "f/v0.1.0", want: versions.Release{Tag: "f/v0.1.0", Modules: []string{"f"}}},
		"image like chart":    {tag: "a/v0.2.0", want: versions.Release{Tag: "a/v0.2.0", Images: []string{"a"}}},
		"other chart version": {tag: "v0.3.0", err: "has v0.2.0 for the chart"},
		"other image version": {tag: "b/v0.2.0", err: "has v0.1.1 for b"},
		"unknown image":       {tag: "d/v0.2.0", err: "unknown image or Go module d: use one of a, b, c, e, f"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got, err := v.Release(test.tag)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("Release(%q) error = %v, want %q", test.tag, err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Release(%q) (-want +got):\n%s", test.tag, diff)
			}
		})
	}
	if diff := cmp.Diff(map[string]string{"b": "v0.1.1"}, v.Differing()); diff != "" {
		t.Errorf("Differing() (-want +got):\n%s", diff)
	}
}

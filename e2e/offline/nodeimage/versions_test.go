// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// all returns the components of all versions.
func all() []component {
	components := append([]component{}, others...)
	for _, v := range versions {
		components = append(components, v.component())
	}
	return components
}

func TestFind(t *testing.T) {
	t.Parallel()
	for minor, want := range map[string]Version{"": Newest, "1.36": "v1.36.3", "1.34": "v1.34.4", "v1.34": "v1.34.4"} {
		if got, err := Find(minor); err != nil || got != want {
			t.Errorf("Find(%q) = %s, %v, want %s", minor, got, err, want)
		}
	}
	for _, minor := range []string{"1.3", "1.34.4", "2", "latest"} {
		if _, err := Find(minor); err == nil || !strings.Contains(err.Error(), "out of 1.34, 1.36") {
			t.Errorf("Find(%q) error = %v, want one that lists the minor versions", minor, err)
		}
	}
}

// Each version has a go.mod file of its own, which requires that version of Kubernetes and of its staging modules.
func TestModulesMatchKubernetesVersion(t *testing.T) {
	t.Parallel()
	for _, v := range versions {
		name := "recipe/modules/" + v.component().name + ".mod"
		text, err := recipe.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if want := "k8s.io/kubernetes " + string(v) + "\n"; !strings.Contains(string(text), want) {
			t.Errorf("%s does not require %s", name, want)
		}
		staging := "v0" + strings.TrimPrefix(string(v), "v1")
		replaced := replacement.FindAllStringSubmatch(string(text), -1)
		for _, found := range replaced {
			if found[1] != staging {
				t.Errorf("%s contains %q, want version %s", name, found[0], staging)
			}
		}
		if len(replaced) < 20 {
			t.Errorf("%s replaces %d modules of Kubernetes, want at least 20", name, len(replaced))
		}
	}
}

// replacement matches a line of a go.mod file that replaces a staging module of Kubernetes with a version.
var replacement = regexp.MustCompile(`=> k8s\.io/\S+ (\S+)`)

func TestVersionsHaveDifferentImages(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, v := range versions {
		tag, err := Tag(v, "amd64", "v0.33.0")
		if err != nil || !strings.HasPrefix(tag, Repository+":"+string(v)+"-") {
			t.Errorf("Tag() = %s, %v, want prefix %s:%s-", tag, err, Repository, v)
		}
		hash := v.component().hash("amd64")
		if seen[hash] || seen[tag] || seen[v.Published()] {
			t.Errorf("%s shares an image or programs with another version", v)
		}
		seen[hash], seen[tag], seen[v.Published()] = true, true, true
	}
}

// The oldest version that the chart supports is available for clusters.
func TestChartSupportsTestedVersions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "charts", "krmfn", "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var chart struct{ KubeVersion string }
	if err := yaml.Unmarshal(text, &chart); err != nil {
		t.Fatal(err)
	}
	oldest := regexp.MustCompile(`1\.\d+`).FindString(chart.KubeVersion)
	if _, err := Find(oldest); err != nil || oldest == "" {
		t.Errorf("Find() of the oldest version in kubeVersion %q: %v", chart.KubeVersion, err)
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/install"
)

// valuesComment is the first line of documented YAML blocks that contain chart values.
const valuesComment = "# values.yaml"

var yamlBlock = regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```$")

// documented returns the chart values shown in the documentation, keyed by page and block: the blocks that begin with valuesComment, and
// the values in Flux HelmReleases and Argo CD Applications. Each YAML block must parse without duplicate keys.
func documented(t *testing.T) map[string]map[string]any {
	t.Helper()
	var pages []string
	for _, pattern := range []string{"README.md", "docs/*.md", "charts/krmfn/README.md"} {
		found, err := filepath.Glob(inCheckout(t, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	sets := map[string]map[string]any{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
			name := fmt.Sprintf("%s, block %d", filepath.Base(page), i+1)
			lines := strings.Split(block[2], "\n")
			for n := range lines {
				lines[n] = strings.TrimPrefix(lines[n], block[1])
			}
			for k, doc := range strings.Split(strings.Join(lines, "\n"), "\n---\n") {
				if values := valuesOf(t, name, doc); values != nil {
					sets[fmt.Sprintf("%s, document %d", name, k+1)] = values
				}
			}
		}
	}
	return sets
}

// valuesOf returns the chart values in a document, or nil if the document contains none.
func valuesOf(t *testing.T, name, doc string) map[string]any {
	t.Helper()
	if strings.HasPrefix(doc, valuesComment) {
		return parseValues(t, doc)
	}
	var parsed any
	if err := yaml.UnmarshalStrict([]byte(doc), &parsed); err != nil {
		t.Errorf("%s is not YAML: %v", name, err)
	}
	var object struct {
		Kind string `json:"kind"`
		Spec struct {
			Values map[string]any `json:"values"`
			Source struct {
				Helm struct {
					ValuesObject map[string]any `json:"valuesObject"`
				} `json:"helm"`
			} `json:"source"`
		} `json:"spec"`
	}
	if yaml.Unmarshal([]byte(doc), &object) != nil {
		return nil
	}
	switch object.Kind {
	case "HelmRelease":
		return object.Spec.Values
	case "Application":
		return object.Spec.Source.Helm.ValuesObject
	}
	return nil
}

// The rendering tests cover the documented values through the matrix. This test checks that the documentation contains sets of values and
// that each set renders by itself.
func TestDocumentedValues(t *testing.T) {
	t.Parallel()
	sets := documented(t)
	if len(sets) < 10 {
		t.Errorf("found %d sets of values in the documentation, want at least 10: do the blocks begin with %q?", len(sets), valuesComment)
	}
	for name, values := range sets {
		if _, err := renderChart(t, install.MergeValues(map[string]any{}, values)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/e2e/install"
)

var blanks = regexp.MustCompile(`(?m)[ \t]+$`)

func TestManifestsAreTidy(t *testing.T) {
	t.Parallel()
	eachRendering(t, func(t *testing.T, r *rendering) {
		if at := blanks.FindStringIndex(r.text); at != nil {
			t.Errorf("trailing white space after\n%s", r.text[max(0, at[0]-200):at[0]])
		}
		seen := map[string]bool{}
		for _, o := range r.objects {
			if seen[o.String()] {
				t.Errorf("duplicate object %s", o)
			}
			seen[o.String()] = true
		}
	})
}

// Rendering is deterministic; otherwise GitOps tools would see changes at every sync.
func TestManifestsAreReproducible(t *testing.T) {
	t.Parallel()
	for name, r := range renderings(t) {
		if strings.HasPrefix(name, onlySwitches) {
			continue
		}
		again, err := renderChart(t, r.given)
		if err != nil {
			t.Fatal(err)
		}
		if again.text != r.text || again.notes != r.notes {
			t.Errorf("%s: two renderings of the same values differ", name)
		}
	}
}

// standardLabels are the labels of every object. Users select all objects of a release or of a component with them.
var standardLabels = []string{
	"helm.sh/chart", "app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/version",
	"app.kubernetes.io/managed-by", "app.kubernetes.io/part-of", "app.kubernetes.io/component",
}

func TestStandardLabels(t *testing.T) {
	t.Parallel()
	eachRendering(t, func(t *testing.T, r *rendering) {
		for _, o := range r.objects {
			for _, label := range standardLabels {
				if o.GetLabels()[label] == "" {
					t.Errorf("%s has no label %s", o, label)
				}
			}
		}
		for _, w := range workloads(t, r) {
			for _, label := range standardLabels {
				if w.labels[label] == "" {
					t.Errorf("pods of %s have no label %s", w, label)
				}
			}
		}
	})
}

// Users who copy the images to another registry set the registry in one value.
func TestImagesComeFromValues(t *testing.T) {
	t.Parallel()
	eachRendering(t, func(t *testing.T, r *rendering) {
		image := r.values["image"].(map[string]any)
		tags, _ := image["tags"].(map[string]any)
		if r.values["global"].(map[string]any)["imageRegistry"] != "" || len(image["overrides"].(map[string]any)) > 0 {
			return // TestImages covers these values.
		}
		permitted := map[string]bool{}
		for _, name := range install.Images {
			tag := image["tag"]
			if tag == "" {
				tag = loadChart(t).Metadata.AppVersion
			}
			if tags[name] != nil {
				tag = tags[name]
			}
			permitted[fmt.Sprintf("%s/%s:%s", image["registry"], name, tag)] = true
		}
		for _, w := range workloads(t, r) {
			for reference, policy := range w.images() {
				if !permitted[reference] {
					t.Errorf("%s: image = %s, want one of %q", w, reference, slices.Sorted(maps.Keys(permitted)))
				}
				if policy != "" && policy != image["pullPolicy"] {
					t.Errorf("%s: pull policy of %s = %s, want %s", w, reference, policy, image["pullPolicy"])
				}
			}
		}
		if registry := image["registry"].(string); registry != "ghcr.io/krmfn" && strings.Contains(r.text, "ghcr.io/krmfn") {
			t.Error("the objects mention ghcr.io/krmfn, but image.registry is another registry")
		}
	})
}

// images returns the image references in the pod with their pull policies. References in environment variables have an empty policy,
// because other components pull them.
func (w *workload) images() map[string]string {
	found := map[string]string{}
	for _, c := range slices.Concat(w.spec.InitContainers, w.spec.Containers) {
		found[c.Image] = string(c.ImagePullPolicy)
		for _, variable := range c.Env {
			if variable.Name == "WRAPPER_SERVER_IMAGE" {
				found[variable.Value] = ""
			}
		}
	}
	for _, v := range w.spec.Volumes {
		if v.Image != nil {
			found[v.Image.Reference] = string(v.Image.PullPolicy)
		}
	}
	return found
}

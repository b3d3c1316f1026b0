// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/install"
)

var sets = flag.Uint64("sets", 400, "number of sets of values to generate")

// renderFast renders without Helm's validation of values, which compiles the schema at each call.
func renderFast(parsed *chart.Chart, given map[string]any) (map[string]string, error) {
	values, err := chartutil.ToRenderValuesWithSchemaValidation(parsed, given,
		chartutil.ReleaseOptions{Name: install.ReleaseName, Namespace: install.Namespace, IsInstall: true}, nil, true)
	if err != nil {
		return nil, err
	}
	return engine.Render(parsed, values)
}

// generatedSets are the renderings of generated values.
type generatedSets struct {
	sync.Mutex
	// refused counts errors of the chart by their kind. manifests maps each manifest for Kubernetes to the first set that contains it.
	rendered  int
	refused   map[string]int
	manifests map[string]string
}

// For all values that the schema permits, the chart renders objects that Kubernetes accepts and command lines that its programs accept, or it
// fails with an error of its own.
func TestGeneratedValues(t *testing.T) {
	t.Parallel()
	parsed, schema := loadChart(t), compiled(t)
	generator := &permitted{root: readSchema(t), compiler: schemaCompiler(t)}
	all := &generatedSets{refused: map[string]int{}, manifests: map[string]string{}}
	seeds := make(chan uint64)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := range seeds {
				values := generator.generate(t, seed)
				text, _ := yaml.Marshal(values)
				set := fmt.Sprintf("set %d:\n%s", seed, text)
				merged, err := chartutil.CoalesceValues(parsed, values)
				if err == nil {
					err = schema.Validate(merged.AsMap())
				}
				if err != nil {
					t.Errorf("generated values that the schema does not permit: %v, %s", err, set)
					continue
				}
				files, err := renderFast(parsed, values)
				if err := all.add(set, files, err); err != nil {
					t.Errorf("%v, %s", err, set)
				}
			}
		})
	}
	for seed := range *sets {
		seeds <- seed
	}
	close(seeds)
	workers.Wait()
	for manifest, problem := range createErrors(t, slices.Sorted(maps.Keys(all.manifests))) {
		t.Errorf("Kubernetes: %s\n%s\n%s", problem, manifest, all.manifests[manifest])
	}
	for reason, count := range all.refused {
		t.Logf("refused %3d: %s", count, reason)
	}
	t.Logf("rendered %d of %d sets, with %d different objects", all.rendered, *sets, len(all.manifests))
	if all.rendered < int(*sets)/3 {
		t.Errorf("the chart rendered %d of %d sets of values, want at least a third", all.rendered, *sets)
	}
}

// refusal matches an error of the chart itself.
var refusal = regexp.MustCompile(`(?s)execution error at \(\S+\): (\S+)(.*)`)

// add records the rendering of a set, or its error. It returns an error if a program refuses its command line or configuration.
func (g *generatedSets) add(set string, files map[string]string, err error) error {
	if err != nil {
		found := refusal.FindStringSubmatch(err.Error())
		if found == nil {
			return fmt.Errorf("error = %w, want one of the chart's checks", err)
		}
		g.Lock()
		defer g.Unlock()
		g.refused[found[1]]++
		return nil
	}
	var problems []error
	manifests, err := split(files)
	for _, manifest := range manifests {
		problems = append(problems, acceptable(manifest))
	}
	g.Lock()
	defer g.Unlock()
	g.rendered++
	for _, manifest := range manifests {
		if !isCustom(manifest) {
			g.manifests[manifest] = set
		}
	}
	return errors.Join(append(problems, err)...)
}

// split returns the manifests in files. Duplicate manifests are an error.
func split(files map[string]string) ([]string, error) {
	seen := map[string]bool{}
	for file, text := range files {
		if strings.HasSuffix(file, ".txt") {
			continue
		}
		for _, manifest := range releaseutil.SplitManifests(text) {
			if !strings.Contains(manifest, "apiVersion:") {
				continue
			}
			if seen[manifest] {
				return nil, fmt.Errorf("%s contains twice\n%s", file, manifest)
			}
			seen[manifest] = true
		}
	}
	return slices.Collect(maps.Keys(seen)), nil
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/report"
)

// planned are the files of two packages whose functions run in all kinds of places.
func planned() map[string]string {
	digest := strings.Repeat("a", 64)
	return map[string]string{
		"Kptfile": `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: shop
pipeline:
  mutators:
    - image: set-labels:v0.2
      name: labels
      configMap: {tier: front, app: web}
      selectors:
        - kind: Deployment
          labels: {b: "2", a: "1"}
        - {}
      exclude:
        - {apiVersion: v1, kind: Service, namespace: n, name: web, annotations: {x: "y"}}
    - image: ` + prefix + `apply-setters
      tag: "~0.2"
      configMap: {replicas: "3"}
    - exec: ./fn --x
  validators:
    - image: ` + prefix + `kubeconform:v9
    - image: r.io/own@sha256:` + digest + "\n",
		"db/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: db\npipeline:\n  mutators:\n    - image: set-namespace:v0.4\n      configPath: c.yaml\n",
		"db/c.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  namespace: db\n",
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		width int
		args  []string
	}{
		"plan.txt":        {args: []string{"--runtime=builtin,sandbox"}},
		"plan-live.txt":   {width: 120, args: []string{"--runtime=builtin,sandbox"}},
		"plan-strict.txt": {width: 120, args: []string{"--color=never", "--strict-versions", "--allow-exec", "--runtime=builtin,sandbox"}},
		"plan-runner.txt": {args: []string{"--runner=localhost:1"}},
		"plan-alone.txt":  {args: []string{"--runtime=builtin"}},
		"plan.json":       {args: []string{"--format=json", "--runtime=builtin,sandbox"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newPackage(t, planned())
			before := snapshot(t, dir)
			call := invocation{args: append([]string{"render", dir, "--plan"}, tc.args...), width: tc.width, environ: []string{"KRMFN_CACHE_DIR=" + t.TempDir()}}
			got := call.run(t.Context(), t).ok(t)
			golden(t, name, versions.ReplaceAllString(got.out, "VERSION"))
			if got.err != "" {
				t.Errorf("standard error:\n%s", got.err)
			}
			unchanged(t, dir, before)
		})
	}
}

func TestPlanOfBrokenPackages(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, map[string]string{"net/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: net\nbogus: true\n"})
	for want, broken := range map[string]string{
		`Error: Kptfile at "` + filepath.Join(dir, "net") + `" can't be read.`: dir,
		"There is a package below it: krmfn render " + dir:                     filepath.Dir(dir),
	} {
		got := krmfn(t, "render", broken, "--plan")
		if got.code != failure.Failed || got.out != "" {
			t.Errorf("%s: exit code %d and %q", broken, got.code, got.out)
		}
		contains(t, got.err, want)
	}
}

// A plan counts the functions in the order in which a render runs them.
func TestPlanIsInOrder(t *testing.T) {
	t.Parallel()
	files := planned()
	files["Kptfile"] = strings.Replace(files["Kptfile"], "  name: shop\n", "  name: shop\n  annotations:\n    kpt.dev/bfs-rendering: \"true\"\n", 1)
	got := krmfn(t, "render", newPackage(t, files), "--plan", "--format=json").ok(t)
	var plan report.Plan
	if err := json.Unmarshal([]byte(got.out), &plan); err != nil {
		t.Fatal(err)
	}
	if len(plan.Packages) != 2 || plan.Packages[0].Package != "." || plan.Packages[1].Mutators[0].Step != 6 {
		t.Errorf("breadth first:\n%s", got.out)
	}
}

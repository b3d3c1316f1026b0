// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

// helm4 takes minutes to build. make lint-chart builds Helm 4 and sets the flag; make test skips the test.
var helm4 = flag.String("helm4", "", "path of Helm 4, whose objects are compared with those of Helm 3")

// All other tests render with Helm 3.
func TestHelm4RendersTheSame(t *testing.T) {
	t.Parallel()
	if *helm4 == "" {
		t.Skip("make lint-chart runs it, with Helm 4 by the flag -helm4")
	}
	for name, values := range matrix(t) {
		if strings.HasPrefix(name, onlySwitches) {
			continue // The other sets include the combination of all switches.
		}
		compareHelm4(t, name, values)
	}
	files, err := filepath.Glob(filepath.Join(chartDir(t), "ci", "*-values.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found %q, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		compareHelm4(t, filepath.Base(file), parseValues(t, string(text)))
	}
}

// compareHelm4 compares the objects that Helm 3 and Helm 4 render from values.
func compareHelm4(t *testing.T, name string, values map[string]any) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		if diff := cmp.Diff(byName(renderOnce(t, values).objects), renderWithHelm4(t, values)); diff != "" {
			t.Errorf("objects (-Helm 3 +Helm 4):\n%s", diff)
		}
	})
}

// renderWithHelm4 returns the objects that the helm command prints, keyed by KIND NAMESPACE/NAME.
func renderWithHelm4(t *testing.T, values map[string]any) map[string]map[string]any {
	t.Helper()
	text, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	template := exec.CommandContext(t.Context(), *helm4, "template", install.ReleaseName, chartDir(t),
		"--namespace", install.Namespace, "--kube-version", "v1.36.0", "--values", "-")
	template.Stdin = bytes.NewReader(text)
	out, err := command.Output(template)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := readManifests(out)
	if err != nil {
		t.Fatal(err)
	}
	return byName(objects)
}

func byName(objects []*object) map[string]map[string]any {
	named := map[string]map[string]any{}
	for _, o := range objects {
		named[o.String()] = o.Object
	}
	return named
}

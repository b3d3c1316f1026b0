// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
)

// FuzzOutput passes arbitrary bytes as a function's output. The render must fail or write valid files inside the package.
func FuzzOutput(f *testing.F) {
	const kptfile = "- apiVersion: kpt.dev/v1\n  kind: Kptfile\n  metadata:\n    name: app\n    annotations:\n      config.kubernetes.io/path: Kptfile\n"
	for _, item := range []string{
		"", "- apiVersion: v1\n  kind: A\n  metadata: {name: a}\n", "- &a {apiVersion: v1, kind: A, metadata: {name: a}}\n- *a\n",
		"- apiVersion: v1\n  kind: A\n  metadata:\n    name: a\n    annotations:\n      config.k8s.io/id: '2'\n  # c\n  data: [x]\n",
		"- apiVersion: v1\n  kind: A\n  metadata:\n    name: ../a\n    annotations: {config.kubernetes.io/path: ../x, config.kubernetes.io/index: '-1'}\n",
		"- apiVersion: v1\n  kind: A\n  metadata:\n    name: a\n    annotations:\n      internal.config.kubernetes.io/package-path: /etc\n",
		"- {\"apiVersion\": \"v1\", \"kind\": \"A\", \"metadata\": {\"name\": \"a\", \"annotations\": {\"config.k8s.io/id\": \"2\"}}, \"data\": {\"k\": []}}\n",
		"- a: &x [*x]\n", "- text\n", "results: {}\n",
	} {
		f.Add(listHead + "items:\n" + kptfile + item)
	}
	f.Fuzz(func(t *testing.T, output string) {
		files := map[string]string{
			"Kptfile":   kpt("pipeline:\n  mutators:\n  - image: fn\n    selectors: [{}]\n"),
			"a.yaml":    "# head\napiVersion: v1 # line\nkind: A\nmetadata:\n  name: a\ndata: # key\n  # above\n  k: v # value\n  l:\n  - x # element\n# foot\n",
			"README.md": "text", "sub/Kptfile": kpt(""), "sub/s.yaml": "apiVersion: v1\nkind: A\nmetadata:\n  name: s\n",
		}
		source, err := packages.NewMemory(files)
		if err != nil {
			t.Fatal(err)
		}
		result, err := render.Package(t.Context(), source, render.Options{
			Evaluator: &fake{functions: map[string]func([]byte) ([]byte, error){"fn:latest": returns(output)}},
		})
		if err != nil {
			return
		}
		for _, c := range result.Output.Changes {
			old, exists := files[c.Path]
			if !fs.ValidPath(c.Path) || (exists && old != string(c.Before)) {
				t.Errorf("the render writes %q, which is outside the package", c.Path)
			}
		}
		source.Apply(result.Output.Changes)
		if _, ok := source.Files()["Kptfile"]; !ok {
			t.Error("the Kptfile was deleted")
		}
		tree, err := packages.Open(source)
		if err != nil {
			t.Fatal(err)
		}
		pkg, err := tree.Load(".")
		if err == nil {
			err = errors.Join(tree.Validate(pkg), tree.ReadResources(pkg))
		}
		if err != nil && !strings.Contains(err.Error(), "Kptfile") {
			t.Errorf("Package() of the written files = %v; files %v", err, source.Files())
		}
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/internal/functiontest"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/runtime"
)

// statusFunctions are a function that succeeds, one that fails with results, and one with invalid output.
var statusFunctions = functions{
	"same:latest": each(),
	"bad:latest": func([]byte) ([]byte, error) {
		return []byte(listHead + "items: []\nresults:\n- {message: no good, severity: error, field: {path: a.b}}\n- {message: hm, severity: warning}\n"), errors.New("exit status 3")
	},
	"broken:latest": replace("apiVersion: v1", "x: y"),
}

func renderStatus(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	source, err := packages.NewMemory(files)
	if err != nil {
		t.Fatal(err)
	}
	result, _ := render.Package(t.Context(), source, render.Options{
		WriteStatus: true, Evaluator: &fake{functions: statusFunctions},
	})
	source.Apply(result.Output.Changes)
	return source.Files()
}

func TestStatusInTheKptfile(t *testing.T) {
	t.Parallel()
	const success = "status:\n  conditions:\n    - type: Rendered\n      status: \"True\"\n      reason: RenderSuccess\n"
	const failed = "status:\n  conditions:\n    - type: Rendered\n      status: \"False\"\n      reason: RenderFailed\n      message: |-\n"
	for name, tc := range map[string]struct {
		kptfile, want string
		sub           string
	}{
		"no pipeline": {kptfile: "", want: success},
		"success": {
			kptfile: "# what it is\n" + mutators("{name: first, image: same}") + "  validators:\n  - exclude: [] # none\n    image: same\n",
			want: "# what it is\n" + mutators("{name: first, image: same}") + "  validators:\n  - exclude: [] # none\n    image: same\n" + success +
				"  renderStatus:\n    mutationSteps:\n      - name: first\n        image: same:latest\n        stderr: log\n        exitCode: 0\n" +
				"    validationSteps:\n      - image: same:latest\n        stderr: log\n        exitCode: 0\n",
		},
		"other conditions and a previous status": {
			kptfile: "status:\n  renderStatus: {errorSummary: old}\n  conditions:\n  - {type: Rendered, status: \"False\"}\n  - type: Other # kept\n    status: \"True\"\n",
			want:    "status:\n  conditions:\n    - type: Other # kept\n      status: \"True\"\n    - type: Rendered\n      status: \"True\"\n      reason: RenderSuccess\n",
		},
		"blank lines and comments": {
			kptfile: "\ninfo:\n    description:   odd\n\n# of the status\nstatus: {}\n\n# of the pipeline\n\n" + mutators("same") + "\n# end\n",
			want: "\ninfo:\n    description:   odd\n\n# of the status\n" + success +
				"  renderStatus:\n    mutationSteps:\n      - image: same:latest\n        stderr: log\n        exitCode: 0\n" +
				"\n# of the pipeline\n\n" + mutators("same") + "\n# end\n",
		},
		"a function fails": {
			kptfile: mutators("same", "{name: b, image: bad}"),
			want: mutators("same", "{name: b, image: bad}") + failed + "        pkg.render: pkg .:\n        \tpipeline.run: already handled error\n" +
				"  renderStatus:\n    mutationSteps:\n      - image: same:latest\n        stderr: log\n        exitCode: 0\n      - name: b\n        image: bad:latest\n        stderr: log\n" +
				"        exitCode: 3\n        results:\n          - message: no good\n            severity: error\n            field:\n              path: a.b\n          - message: hm\n            severity: warning\n" +
				"        errorResults:\n          - message: no good\n            severity: error\n            field:\n              path: a.b\n    errorSummary: 'b: exit code 3'\n",
		},
		"a function below is unknown": {
			sub: mutators("unknown"),
			want: failed + "        pkg.render: pkg ./sub:\n        \tpipeline.run: function \"unknown:latest\" not found\n" +
				"  renderStatus:\n    mutationSteps:\n      - image: unknown:latest\n        executionError: function \"unknown:latest\" not found\n        exitCode: 1\n" +
				"    errorSummary: 'unknown:latest: function \"unknown:latest\" not found'\n",
		},
		"invalid output": {
			kptfile: validators("broken"),
			want: validators("broken") + failed + "        pkg.render: pkg .:\n        \tpipeline.run: output resource list must contain only KRM resources: a.yaml: resource must have `apiVersion`\n" +
				"  renderStatus:\n    validationSteps:\n      - image: broken:latest\n        executionError: 'output resource list must contain only KRM resources: a.yaml: resource must have `apiVersion`'\n" +
				"        stderr: log\n        exitCode: 1\n    errorSummary: 'broken:latest: output resource list must contain only KRM resources: a.yaml: resource must have `apiVersion`'\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"Kptfile": kpt(tc.kptfile), "sub/Kptfile": kpt(tc.sub), "a.yaml": cm("a"), "b.yaml": "{apiVersion: v1, kind: B, metadata: {name: b}}\n"}
			got := renderStatus(t, files)
			if diff := cmp.Diff(kpt(tc.want), got["Kptfile"]); diff != "" {
				t.Errorf("Kptfile (-want +got):\n%s", diff)
			}
			for _, p := range []string{"sub/Kptfile", "a.yaml", "b.yaml"} {
				if got[p] != files[p] {
					t.Errorf("%s changed, want only the Kptfile to change", p)
				}
			}
			if again := renderStatus(t, got); !cmp.Equal(got, again) {
				t.Errorf("the second render changes files (-first +second):\n%s", cmp.Diff(got, again))
			}
		})
	}
}

// If the root Kptfile is invalid, no status is written.
func TestNoStatusForInvalidKptfiles(t *testing.T) {
	t.Parallel()
	for _, kptfile := range []string{kpt("bogus: 1\n"), kpt(mutators("{image: a, exec: b}"))} {
		if got := renderStatus(t, map[string]string{"Kptfile": kptfile}); got["Kptfile"] != kptfile {
			t.Errorf("Kptfile = %s, want no status", got["Kptfile"])
		}
	}
}

// In a package read from a directory, the status has no absolute paths.
func TestStatusHasNoAbsolutePath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Kptfile"), []byte(kpt(mutators("{image: same, configPath: c.yaml}"))), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{"c.yaml": cm("c"), "sub/Kptfile": "kind: none\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	source, err := packages.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	result, err := render.Package(t.Context(), source, render.Options{WriteStatus: true})
	if err == nil || len(result.Output.Changes) != 1 {
		t.Fatalf("Package() = %v, %v, want an error and one change", result.Output, err)
	}
	want := kpt(mutators("{image: same, configPath: c.yaml}") + "status:\n  conditions:\n    - type: Rendered\n      status: \"False\"\n      reason: RenderFailed\n      message: |-\n" +
		"        pkg.render: pkg .:\n        \tpkg.Subpackages: pkg ./sub: error reading Kptfile at \"./sub\": unknown resource type \", Kind=none\" found in Kptfile\n")
	if diff := cmp.Diff(want, string(result.Output.Changes[0].After)); diff != "" {
		t.Errorf("Kptfile (-want +got):\n%s", diff)
	}
}

// A text that only begins or ends with the root's path is not a path of the package.
func TestConditionKeepsOtherPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for root, message := range map[string]struct{ says, want string }{
		"beside":     {"DIRdev and DIR.old and DIR-2 and DIR_x", "DIRdev and DIR.old and DIR-2 and DIR_x"},
		"image":      {`function "ghcr.io$DIR/nope:v1" not found`, `function "ghcr.io$DIR/nope:v1" not found`},
		"longer":     {"/mntDIR/a.yaml and x.DIR", "/mntDIR/a.yaml and x.DIR"},
		"below":      {"open DIR/a.yaml: DIR: (DIR) DIR", "open ./a.yaml: .: (.) ."},
		"quoted":     {`"DIR/sub" 'DIR', file://x`, `"./sub" '.', file://x`},
		"a sentence": {"nothing is in DIR.", "nothing is in .."},
	} {
		pkg := filepath.Join(dir, root)
		if err := os.MkdirAll(pkg, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(pkg, "Kptfile"), []byte(kpt(mutators("fn"))), 0o600); err != nil {
			t.Fatal(err)
		}
		source, err := packages.OpenDir(pkg)
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close()
		in := func(text string) string { return strings.NewReplacer("$DIR", pkg, "DIR", pkg).Replace(text) }
		evaluator := evaluation.Func(func(context.Context, evaluation.Request) (evaluation.Response, error) {
			return evaluation.Response{}, errors.New(in(message.says))
		})
		result, err := render.Package(t.Context(), source, render.Options{WriteStatus: true, Evaluator: evaluator})
		if err == nil || len(result.Output.Changes) != 1 {
			t.Fatalf("Package() = %v, %v, want an error and one change", result.Output, err)
		}
		if got, want := string(result.Output.Changes[0].After), `pipeline.run: func eval "fn:latest" failed: `+in(message.want)+"\n"; !strings.Contains(got, want) {
			t.Errorf("%s: %s is missing in\n%s", root, want, got)
		}
	}
}

// The status has no field for the implementation, and kpt rejects unknown fields. Therefore a result says which version ran.
func TestStatusWarnsOfOtherVersion(t *testing.T) {
	t.Parallel()
	source, err := packages.NewMemory(map[string]string{
		"Kptfile": kpt(mutators("{image: set-labels:v9.9.9, configMap: {a: b}}", "{image: set-labels, configMap: {a: b}}")), "a.yaml": cm("a"),
	})
	if err != nil {
		t.Fatal(err)
	}
	options := render.Options{Evaluator: runtime.Builtin{Functions: functiontest.Functions()}, ImagePrefix: "gcr.io/kpt-fn", WriteStatus: true}
	result, err := render.Package(t.Context(), source, options)
	if err != nil {
		t.Fatal(err)
	}
	source.Apply(result.Output.Changes)
	_, status, _ := strings.Cut(source.Files()["Kptfile"], "  renderStatus:\n")
	const want = "    mutationSteps:\n      - image: gcr.io/kpt-fn/set-labels:v9.9.9\n        exitCode: 0\n        results:\n" +
		"          - message: set-labels:v9.9.9 is evaluated by v0.2.4\n            severity: warning\n" +
		"      - image: gcr.io/kpt-fn/set-labels:latest\n        exitCode: 0\n"
	if diff := cmp.Diff(want, status); diff != "" {
		t.Errorf("renderStatus (-want +got):\n%s", diff)
	}
	if got := result.Report.Functions[1].Warning; got != "set-labels:latest is evaluated by v0.2.4" {
		t.Errorf("results for a tag that is not a version = %q, want no warning", got)
	}
}

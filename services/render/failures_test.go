// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/commandline"
	"github.com/krmfn/krmfn/internal/process"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

func TestFailures(t *testing.T) {
	t.Parallel()
	never := returns("never runs")
	fails := func([]byte) ([]byte, error) {
		return []byte(listHead + "items: []\nresults:\n- message: no good\n  severity: error\n"), errors.New("exit status 3")
	}
	type functions = map[string]func([]byte) ([]byte, error)
	item := func(annotations string) string {
		return listHead + "items:\n- apiVersion: kpt.dev/v1\n  kind: Kptfile\n  metadata:\n    name: app\n    annotations:\n      config.kubernetes.io/path: Kptfile\n" +
			"- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n    annotations:\n" + annotations
	}
	const level = "fn.render: pkg /:\n\tpkg.render:\n\tpipeline.run: "
	for name, tc := range map[string]struct {
		kptfile   string
		functions functions
		want      string
		items     int // of the result list
		ran       int
	}{
		"function fails": {
			kptfile: kpt(mutators("ok", "bad", "never")), functions: functions{"ok": each(annotate("a", "b")), "bad": fails, "never": never},
			want: level + `func eval "bad:latest" failed: exit status 3 (log) with structured results: [error]: no good`, items: 2, ran: 2,
		},
		"validator fails": {
			kptfile: kpt(validators("bad", "never")), functions: functions{"bad": fails, "never": never},
			want: level + `func eval "bad:latest" failed: exit status 3 (log) with structured results: [error]: no good`, items: 1, ran: 1,
		},
		"unknown function": {
			kptfile: kpt(mutators("ok", "unknown")), functions: functions{"ok": each()},
			want: level + `function "unknown:latest" not found`, items: 2, ran: 1,
		},
		"exec is rejected before any mutator": {
			kptfile: kpt(mutators("ok", "{exec: ./fn --x}")), functions: functions{"ok": each()},
			want: level + "must run with `--allow-exec` option to allow running function binaries", items: 1,
		},
		"exec of a validator is rejected when it is due": {
			kptfile: kpt(mutators("ok") + "  validators:\n  - exec: fn\n"), functions: functions{"ok": each()},
			want: level + "must run with `--allow-exec` option to allow running function binaries", items: 2, ran: 1,
		},
		"version constraint": {
			kptfile: kpt(mutators("ok", `{image: r.io/x, tag: "~1.0"}`)), functions: functions{"ok": each()},
			want: level + "`function.tag` \"~1.0\" of image \"r.io/x\" is a version constraint, which cannot be resolved without a registry: give an exact tag", items: 1,
		},
		"input is not KRM": {
			kptfile: kpt(mutators("ok") + "---\nkind: Other\n"), functions: functions{"ok": each()},
			want: level + "input resource list must contain only KRM resources: Kptfile: resource must have `apiVersion`", items: 1,
		},
		"input is not KRM and there is no pipeline": {
			kptfile: kpt("") + "---\nkind: Other\n",
			want:    "fn.render: pkg /:\n\tpkg.render: input resource list must contain only KRM resources: Kptfile: resource must have `apiVersion`",
		},
		"output is not KRM": {
			kptfile: kpt(mutators("bad")), functions: functions{"bad": replace("apiVersion: v1", "x: y")},
			want: level + "output resource list must contain only KRM resources: a.yaml: resource must have `apiVersion`", items: 1, ran: 1,
		},
		"output of a validator is not KRM": {
			kptfile: kpt(validators("bad")), functions: functions{"bad": replace("apiVersion: v1", "x: y")},
			want: level + "output resource list must contain only KRM resources: a.yaml: resource must have `apiVersion`", items: 1, ran: 1,
		},
		"outside the package": {
			kptfile: kpt(mutators("bad")), functions: functions{"bad": returns(item("      config.kubernetes.io/path: a/../../b.yaml\n"))},
			want: level + "function must not modify resources outside of package: resource has path a/../../b.yaml", items: 1, ran: 1,
		},
		"duplicate path and index": {
			kptfile: kpt(mutators("bad")), functions: functions{"bad": returns(item("      config.kubernetes.io/path: Kptfile\n"))},
			want: level + `resource at path "Kptfile" and index "" already exists`, items: 1, ran: 1,
		},
		"paths disagree": {
			kptfile: kpt(mutators("bad")), functions: functions{"bad": returns(item("      config.kubernetes.io/path: b\n      internal.config.kubernetes.io/path: c\n"))},
			want: level + "resource input to function has mismatched legacy and internal path annotations", items: 1, ran: 1,
		},
		"deletes the Kptfile": {
			kptfile: kpt(mutators("bad")), functions: functions{"bad": items(func(nodes []*yaml.RNode) []*yaml.RNode { return nodes[1:] })},
			want: level + "the output would delete the package's Kptfile: return all items, or exclude kind Kptfile from the function", items: 1, ran: 1,
		},
		"moves the Kptfile": {
			kptfile: kpt(mutators("bad")), functions: functions{"bad": replace("'Kptfile'", "'a/moved.yaml'")},
			want: level + "the output would move the package's Kptfile to a/moved.yaml: keep the path annotations of the items", items: 1, ran: 1,
		},
		"no items": {
			kptfile: kpt(mutators("bad")), functions: functions{"bad": returns(listHead + "results: []\n")},
			want: level + "the output has no items, which would delete all resources that the function got: return the resources to keep, or an empty list of items", items: 1, ran: 1,
		},
		"recursive anchor": {
			kptfile: kpt(mutators("bad")), functions: functions{"bad": returns(item("      a: b\n  data: &x [*x]\n"))},
			want: level + "the output has an anchor that contains itself", items: 1, ran: 1,
		},
		"the output cannot be written": {
			kptfile: kpt(mutators("bad")), functions: functions{"bad": replace("'a.yaml'", "'README.md'")},
			want: "fn.render: pkg /:\n\tpkg.render: failed to save resources: resource must not be written to README.md: the existing file is not a resource file of the package " +
				"(give the resource another path, or delete the file)", items: 1, ran: 1,
		},
		"configuration in a sub-package": {
			kptfile: kpt(mutators("{image: ok, configPath: sub/c.yaml}")), functions: functions{"ok": never},
			want: "fn.render: pkg /:\n\tpkg.render: Kptfile is invalid:\nField: `pipeline.mutators[0].configPath`\nValue: \"sub/c.yaml\"\nReason: functionConfig resource for mutator " +
				"\"ok\" is missing from path \"sub/c.yaml\", this also occurs if \"sub/c.yaml\" is part of a subpackage\n",
		},
		"Kptfile": {
			kptfile: kpt(mutators("{image: a, exec: b}")),
			want: "fn.render: pkg /:\n\tpkg.read: invalid pipeline: function \"a\": Kptfile is invalid:\nField: `pipeline.mutators[0]`\n" +
				"Reason: must not specify both `image` and `exec` at the same time\n", items: -1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"Kptfile": tc.kptfile, "a.yaml": cm("a"), "README.md": "text", "sub/Kptfile": kpt(""), "sub/c.yaml": cm("c")}
			r := renderFiles(t, files, tc.functions)
			if r.err == nil {
				t.Fatal("the render succeeded, want an error")
			}
			if diff := cmp.Diff(tc.want, r.err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if r.Report.Error != r.err.Error() {
				t.Errorf("Report.Error = %q, want the returned error", r.Report.Error)
			}
			if diff := cmp.Diff(files, r.files); diff != "" || r.Output.Changes != nil || r.Output.Files != nil {
				t.Errorf("files changed: %s", diff)
			}
			if tc.items < 0 {
				if r.Report.Result != nil {
					t.Errorf("Report.Result = %+v, want nil", r.Report.Result)
				}
				return
			}
			if got := r.Report.Result; len(got.Items) != tc.items || got.ExitCode != 1 || slices.ContainsFunc(got.Items, unnamed) || len(r.fake.inputs) != tc.ran {
				t.Errorf("result list: %d items, exit code %d; %d functions ran", len(got.Items), got.ExitCode, len(r.fake.inputs))
			}
		})
	}
}

func unnamed(r renderstatus.Result) bool { return r.Image == "" && r.Exec == "" }

func TestFailureKeepsPreviousResources(t *testing.T) {
	t.Parallel()
	r := renderFiles(t, map[string]string{"Kptfile": kpt(mutators("ok", "bad")), "a.yaml": cm("a")}, map[string]func([]byte) ([]byte, error){
		"ok":  each(annotate("by", "ok")),
		"bad": func([]byte) ([]byte, error) { return nil, errors.New("exit status 1") },
	})
	var failed *render.FunctionError
	if !errors.As(r.err, &failed) || failed.Function != "bad:latest" || failed.Report.GetExitCode() != 3 {
		t.Fatalf("error = %v, want a FunctionError of bad:latest with exit code 3", r.err)
	}
	var out bytes.Buffer
	if err := packages.WriteDocuments(&out, r.Resources[1:]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cm("a")+"  annotations:\n    by: 'ok'\n", out.String()); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	want := []string{
		`started: .("/", 0, 2)`, `package . "/": 2 functions, 2 resources`,
		"ok:latest started on 2, selected false", "ok:latest finished with 0: <nil>",
		"bad:latest started on 2, selected false", `bad:latest finished with 3: func eval "bad:latest" failed: exit status 1 (log)`,
		`package . finished: pipeline.run: pkg /: func eval "bad:latest" failed: exit status 1 (log)`,
	}
	if diff := cmp.Diff(want, r.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// If a failure has no exit code of its own, the status has the failure's message.
func TestStatusExplainsFailuresWithoutExitCode(t *testing.T) {
	t.Parallel()
	for reason, want := range map[evaluationv1.FailureReason]string{
		evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_INVALID: "no list",
		evaluationv1.FailureReason_FAILURE_REASON_DEADLINE:       "no list",
		evaluationv1.FailureReason_FAILURE_REASON_START:          "no list",
		evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE:      "already handled error",
	} {
		evaluator := evaluation.Func(func(context.Context, evaluation.Request) (evaluation.Response, error) {
			return evaluation.Failed(&evaluationv1.Evaluation{ExitCode: 0}, reason, "no list"), nil
		})
		source, err := packages.NewMemory(map[string]string{"Kptfile": kpt(mutators("bad"))})
		if err != nil {
			t.Fatal(err)
		}
		result, err := render.Package(t.Context(), source, render.Options{Evaluator: evaluator, WriteStatus: true})
		if err == nil || len(result.Output.Changes) != 1 {
			t.Fatalf("%v: error = %v, changes = %v, want an error and one change", reason, err, result.Output.Changes)
		}
		if status := string(result.Output.Changes[0].After); !strings.Contains(status, want) {
			t.Errorf("%v: status =\n%s", reason, status)
		}
	}
}

// An invalid command line is an error before any function runs.
func TestCommandLinesAreCheckedFirst(t *testing.T) {
	t.Parallel()
	processes := process.NewRunner(process.Options{ScratchRoot: t.TempDir()})
	defer processes.Close()
	source, err := packages.NewMemory(map[string]string{"Kptfile": kpt(mutators(`{exec: "cat"}`, `{exec: "sh -c 'x"}`))})
	if err != nil {
		t.Fatal(err)
	}
	result, err := render.Package(t.Context(), source, render.Options{Exec: commandline.Evaluator{Runner: processes, Env: os.Environ()}})
	if err == nil || !strings.HasSuffix(err.Error(), `pipeline.run: exec command "sh -c 'x" must be valid: EOF found when expecting closing quote`) {
		t.Errorf("error = %v, want an invalid exec command", err)
	}
	for _, f := range result.Report.Functions {
		if f.Ran {
			t.Errorf("%s has run, want no function to run", f.Title())
		}
	}
}

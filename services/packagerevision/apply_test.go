// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagerevision_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/packagerevision"
	"github.com/krmfn/krmfn/services/packagerevision/packagecontext"
	"github.com/krmfn/krmfn/services/render/kptfile"
)

const (
	initKptfile = `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web
  annotations:
    config.kubernetes.io/local-config: "true"
info:
  description: sample description
`
	contextHead = `apiVersion: v1
kind: ConfigMap
metadata:
  name: kptfile.kpt.dev
  annotations:
    config.kubernetes.io/local-config: "true"
data:
`
	initReadme = "# web\n\nsample description\n\nThe Kptfile lists the functions that the package's resources go through. Run them with:\n\n" +
		"    kpt fn render web\n"
)

// cloned returns the mutation of a clone.
func cloned(files map[string]string) packagerevision.Mutation {
	return func(ctx context.Context, draft map[string]string) (map[string]string, error) {
		if len(draft) > 0 {
			return nil, errors.New("the draft is not empty")
		}
		return packagerevision.Edit(files)(ctx, draft)
	}
}

func TestApplyTask(t *testing.T) {
	t.Parallel()
	upstream := map[string]string{"Kptfile": head + pipeline, "a.yaml": cm, "logo.txt": "\x00"}
	web := packagerevision.Revision{Lifecycle: packagerevision.LifecycleDraft, Context: packagecontext.Context{Path: "eu/web", Repository: "edge"}}
	patched := web
	patched.Kptfile = kptfile.Patch{
		Labels: map[string]string{"team": "a"}, ReadinessGates: []kptfilev1.ReadinessGate{{ConditionType: "Ready"}},
	}
	deployed := web
	deployed.Context.Deployment = true
	for _, tc := range []struct {
		name     string
		revision packagerevision.Revision
		tasks    []packagerevision.Task
		want     map[string]string
		items    int
		reason   packagerevision.TaskType
	}{
		{
			"no task makes an empty package", web, nil,
			map[string]string{"Kptfile": initKptfile, "README.md": initReadme, "package-context.yaml": contextHead + "  name: example\n"},
			0, packagerevision.TaskInit,
		},
		{
			"init", web,
			[]packagerevision.Task{{Type: packagerevision.TaskInit, Mutation: packagerevision.Init{
				Name: "web", Description: "A web shop.", Keywords: []string{"shop"}, Site: "example.org",
			}.Mutate}},
			map[string]string{
				"Kptfile": strings.Replace(initKptfile, "info:\n  description: sample description\n",
					"info:\n  site: example.org\n  description: A web shop.\n  keywords:\n    - shop\n", 1),
				"README.md":            strings.Replace(initReadme, "sample description", "A web shop.", 1),
				"package-context.yaml": contextHead + "  name: example\n",
			},
			0, packagerevision.TaskInit,
		},
		{
			"edit", web,
			[]packagerevision.Task{{Type: packagerevision.TaskEdit, Mutation: packagerevision.Edit(upstream)}},
			map[string]string{"Kptfile": head + pipeline, "a.yaml": shopCM, "logo.txt": "\x00"},
			1, packagerevision.TaskEdit,
		},
		{
			"clone", patched,
			[]packagerevision.Task{{Type: packagerevision.TaskClone, Mutation: cloned(upstream)}},
			map[string]string{
				"Kptfile": head + "  labels:\n    team: a\n" + pipeline + "info:\n  readinessGates:\n    - conditionType: Ready\n",
				"a.yaml":  shopCM, "logo.txt": "\x00",
			},
			1, packagerevision.TaskClone,
		},
		{
			"clone for deployment", deployed,
			[]packagerevision.Task{{Type: packagerevision.TaskClone, Mutation: cloned(upstream)}},
			map[string]string{
				"Kptfile": head + pipeline, "a.yaml": shopCM, "logo.txt": "\x00",
				"package-context.yaml": strings.Replace(contextHead, "  name: kptfile.kpt.dev\n", "  name: kptfile.kpt.dev\n", 1) +
					"  name: app\n  package-path: eu/web\n  repository: edge\n  deployment: \"true\"\n",
			},
			1, packagerevision.TaskClone,
		},
		{
			"only clones get a context", deployed,
			[]packagerevision.Task{{Type: packagerevision.TaskUpgrade, Mutation: packagerevision.Edit(upstream)}},
			map[string]string{"Kptfile": head + pipeline, "a.yaml": shopCM, "logo.txt": "\x00"},
			1, packagerevision.TaskUpgrade,
		},
		{
			"no package", web,
			[]packagerevision.Task{{Type: packagerevision.TaskClone, Mutation: cloned(map[string]string{"a.yaml": cm})}},
			map[string]string{"a.yaml": cm},
			0, packagerevision.TaskClone,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			draft := packagerevision.NewMemoryDraft(nil)
			report, err := handler().ApplyTask(t.Context(), draft, tc.revision, tc.tasks)
			checkError(t, err, "")
			if draft.Open() {
				t.Error("the draft is still open")
			}
			checkFiles(t, "revision", tc.want, draft.Published())
			if diff := cmp.Diff([]packagerevision.TaskType{tc.reason}, draft.Reasons()); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
			items := 0
			if report != nil {
				items = len(report.Result.Items)
			}
			if items != tc.items {
				t.Errorf("report has %d functions, want %d", items, tc.items)
			}
		})
	}
}

// After any error, the draft is discarded.
func TestApplyTaskRollsBack(t *testing.T) {
	t.Parallel()
	ok := packagerevision.Task{Type: packagerevision.TaskEdit, Mutation: packagerevision.Edit(map[string]string{"Kptfile": head, "a.yaml": cm})}
	deployed := packagerevision.Revision{Context: packagecontext.Context{Path: "web", Deployment: true}}
	labelled := packagerevision.Revision{Kptfile: kptfile.Patch{Labels: map[string]string{"a": "b"}}}
	for _, tc := range []struct {
		name     string
		revision packagerevision.Revision
		tasks    []packagerevision.Task
		host     faulty
		want     string
	}{
		{"two tasks", deployed, []packagerevision.Task{ok, ok}, faulty{}, "task list must contain exactly 1 task"},
		{"no mutation", deployed, []packagerevision.Task{{Type: packagerevision.TaskClone}}, faulty{}, "the clone task has no mutation"},
		{"the mutation", deployed, []packagerevision.Task{{Type: packagerevision.TaskUpgrade, Mutation: func(context.Context, map[string]string) (map[string]string, error) {
			return nil, errors.New("conflict")
		}}}, faulty{}, "apply the upgrade task: conflict"},
		{
			"a package that is there", deployed,
			[]packagerevision.Task{{Type: packagerevision.TaskInit, Mutation: packagerevision.Init{Name: "x"}.Mutate}},
			faulty{MemoryDraft: packagerevision.NewMemoryDraft(map[string]string{"Kptfile": head})},
			"there is already a Kptfile",
		},
		{"no name", deployed, []packagerevision.Task{{Type: packagerevision.TaskInit, Mutation: packagerevision.Init{}.Mutate}}, faulty{}, "without a name"},
		{
			"the context", deployed,
			[]packagerevision.Task{{Type: packagerevision.TaskClone, Mutation: cloned(map[string]string{"Kptfile": "a: ["})}},
			faulty{},
			`failed to generate deployment context: failed to evaluate function "builtins/gen-pkg-context": Kptfile: `,
		},
		{
			"no Kptfile to patch", labelled,
			[]packagerevision.Task{{Type: packagerevision.TaskEdit, Mutation: packagerevision.Edit(map[string]string{"a.yaml": cm})}},
			faulty{},
			"patch the Kptfile: ",
		},
		{
			"a Kptfile that cannot be patched", labelled,
			[]packagerevision.Task{{Type: packagerevision.TaskEdit, Mutation: packagerevision.Edit(map[string]string{"Kptfile": head + "bogus: 1\n"})}},
			faulty{},
			"field bogus not found",
		},
		{
			"a path outside", deployed,
			[]packagerevision.Task{{Type: packagerevision.TaskEdit, Mutation: packagerevision.Edit(map[string]string{"../a": cm})}},
			faulty{},
			`path "../a" names no file inside the package`,
		},
		{
			"the render", deployed,
			[]packagerevision.Task{{Type: packagerevision.TaskEdit, Mutation: packagerevision.Edit(map[string]string{"Kptfile": head + failing, "fail.yaml": failYAML})}},
			faulty{},
			"fn.render: pkg /:\n\tpkg.render:\n\tpipeline.run: ",
		},
		{"the host's update", deployed, []packagerevision.Task{ok}, faulty{update: errors.New("disk full")}, "update the draft: disk full"},
		{"the host's push", deployed, []packagerevision.Task{ok}, faulty{close: errors.New("no route")}, "failed to push package to remote: no route"},
		{
			"the rollback", deployed,
			[]packagerevision.Task{ok},
			faulty{close: errors.New("no route"), discard: errors.New("really")},
			"no route (and the draft could not be discarded: really)",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			draft := tc.host
			if draft.MemoryDraft == nil {
				draft.MemoryDraft = packagerevision.NewMemoryDraft(nil)
			}
			before := draft.Published()
			_, err := handler().ApplyTask(t.Context(), &draft, tc.revision, tc.tasks)
			checkError(t, err, tc.want)
			if draft.Open() {
				t.Error("the draft is still open")
			}
			checkFiles(t, "revision", before, draft.Published())
		})
	}
}

// The rollback works after the request was cancelled.
func TestApplyTaskCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	draft := &faulty{MemoryDraft: packagerevision.NewMemoryDraft(nil)}
	_, err := handler().ApplyTask(ctx, draft, draftRevision(), []packagerevision.Task{{
		Type: packagerevision.TaskClone,
		Mutation: func(context.Context, map[string]string) (map[string]string, error) {
			cancel()
			return map[string]string{"Kptfile": head + pipeline, "a.yaml": cm}, nil
		},
	}})
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "discarded") || draft.Open() {
		t.Errorf("ApplyTask() = %v, draft open = %t, want Canceled and a closed draft", err, draft.Open())
	}
}

func TestInitKeepsTabsInDescription(t *testing.T) {
	t.Parallel()
	const description = "\ta shop\n\tof webs\n"
	files, err := packagerevision.Init{Name: "web", Description: description}.Mutate(t.Context(), map[string]string{})
	if err != nil {
		t.Fatal(err)
	}
	var got kptfilev1.KptFile
	if err := yaml.Unmarshal([]byte(files["Kptfile"]), &got); err != nil || got.Info.Description != description {
		t.Errorf("error = %v, description = %q in\n%s", err, got.Info.Description, files["Kptfile"])
	}
}

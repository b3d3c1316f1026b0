// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package taskhandler_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/krmfn/krmfn/services/drafts"
	"github.com/krmfn/krmfn/services/kptfile"
	"github.com/krmfn/krmfn/services/packagecontext"
	"github.com/krmfn/krmfn/services/taskhandler"
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

// cloned is the mutation of a clone.
func cloned(files map[string]string) taskhandler.Mutation {
	return func(ctx context.Context, draft map[string]string) (map[string]string, error) {
		if len(draft) > 0 {
			return nil, errors.New("the draft is not empty")
		}
		return taskhandler.Edit(files)(ctx, draft)
	}
}

func TestApplyTask(t *testing.T) {
	t.Parallel()
	upstream := map[string]string{"Kptfile": head + pipeline, "a.yaml": cm, "logo.txt": "\x00"}
	web := taskhandler.Revision{Lifecycle: taskhandler.LifecycleDraft, Context: packagecontext.Context{Path: "eu/web", Repository: "edge"}}
	patched := web
	patched.Kptfile = kptfile.Patch{
		Labels: map[string]string{"team": "a"}, ReadinessGates: []kptfilev1.ReadinessGate{{ConditionType: "Ready"}},
	}
	deployed := web
	deployed.Context.Deployment = true
	for _, tc := range []struct {
		name     string
		revision taskhandler.Revision
		tasks    []taskhandler.Task
		want     map[string]string
		items    int
		reason   taskhandler.TaskType
	}{
		{
			"no task makes an empty package", web, nil,
			map[string]string{"Kptfile": initKptfile, "README.md": initReadme, "package-context.yaml": contextHead + "  name: example\n"},
			0, taskhandler.TaskInit,
		},
		{
			"init", web,
			[]taskhandler.Task{{Type: taskhandler.TaskInit, Mutation: taskhandler.Init{
				Name: "web", Description: "A web shop.", Keywords: []string{"shop"}, Site: "example.org",
			}.Mutate}},
			map[string]string{
				"Kptfile": strings.Replace(initKptfile, "info:\n  description: sample description\n",
					"info:\n  site: example.org\n  description: A web shop.\n  keywords:\n    - shop\n", 1),
				"README.md":            strings.Replace(initReadme, "sample description", "A web shop.", 1),
				"package-context.yaml": contextHead + "  name: example\n",
			},
			0, taskhandler.TaskInit,
		},
		{
			"edit", web,
			[]taskhandler.Task{{Type: taskhandler.TaskEdit, Mutation: taskhandler.Edit(upstream)}},
			map[string]string{"Kptfile": head + pipeline, "a.yaml": shopCM, "logo.txt": "\x00"},
			1, taskhandler.TaskEdit,
		},
		{
			"clone", patched,
			[]taskhandler.Task{{Type: taskhandler.TaskClone, Mutation: cloned(upstream)}},
			map[string]string{
				"Kptfile": head + "  labels:\n    team: a\n" + pipeline + "info:\n  readinessGates:\n    - conditionType: Ready\n",
				"a.yaml":  shopCM, "logo.txt": "\x00",
			},
			1, taskhandler.TaskClone,
		},
		{
			"clone for deployment", deployed,
			[]taskhandler.Task{{Type: taskhandler.TaskClone, Mutation: cloned(upstream)}},
			map[string]string{
				"Kptfile": head + pipeline, "a.yaml": shopCM, "logo.txt": "\x00",
				"package-context.yaml": strings.Replace(contextHead, "  name: kptfile.kpt.dev\n", "  name: kptfile.kpt.dev\n", 1) +
					"  name: app\n  package-path: eu/web\n  repository: edge\n  deployment: \"true\"\n",
			},
			1, taskhandler.TaskClone,
		},
		{
			"only clones get a context", deployed,
			[]taskhandler.Task{{Type: taskhandler.TaskUpgrade, Mutation: taskhandler.Edit(upstream)}},
			map[string]string{"Kptfile": head + pipeline, "a.yaml": shopCM, "logo.txt": "\x00"},
			1, taskhandler.TaskUpgrade,
		},
		{
			"no package", web,
			[]taskhandler.Task{{Type: taskhandler.TaskClone, Mutation: cloned(map[string]string{"a.yaml": cm})}},
			map[string]string{"a.yaml": cm},
			0, taskhandler.TaskClone,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			draft := drafts.NewMemory(nil)
			report, err := handler().ApplyTask(t.Context(), draft, tc.revision, tc.tasks)
			checkError(t, err, "")
			if draft.Open() {
				t.Error("the draft is still open")
			}
			checkFiles(t, "revision", tc.want, draft.Published())
			if diff := cmp.Diff([]taskhandler.TaskType{tc.reason}, draft.Reasons()); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
			items := 0
			if report != nil {
				items = len(report.Result.Items)
			}
			if items != tc.items {
				t.Errorf("%d functions are reported, want %d", items, tc.items)
			}
		})
	}
}

// Whatever goes wrong, nothing of the draft is left.
func TestApplyTaskRollsBack(t *testing.T) {
	t.Parallel()
	ok := taskhandler.Task{Type: taskhandler.TaskEdit, Mutation: taskhandler.Edit(map[string]string{"Kptfile": head, "a.yaml": cm})}
	deployed := taskhandler.Revision{Context: packagecontext.Context{Path: "web", Deployment: true}}
	labelled := taskhandler.Revision{Kptfile: kptfile.Patch{Labels: map[string]string{"a": "b"}}}
	for _, tc := range []struct {
		name     string
		revision taskhandler.Revision
		tasks    []taskhandler.Task
		host     faulty
		want     string
	}{
		{"two tasks", deployed, []taskhandler.Task{ok, ok}, faulty{}, "task list must contain exactly 1 task"},
		{"no mutation", deployed, []taskhandler.Task{{Type: taskhandler.TaskClone}}, faulty{}, "the clone task has no mutation"},
		{"the mutation", deployed, []taskhandler.Task{{Type: taskhandler.TaskUpgrade, Mutation: func(context.Context, map[string]string) (map[string]string, error) {
			return nil, errors.New("conflict")
		}}}, faulty{}, "apply the upgrade task: conflict"},
		{
			"a package that is there", deployed,
			[]taskhandler.Task{{Type: taskhandler.TaskInit, Mutation: taskhandler.Init{Name: "x"}.Mutate}},
			faulty{Memory: drafts.NewMemory(map[string]string{"Kptfile": head})},
			"there is a Kptfile already",
		},
		{"no name", deployed, []taskhandler.Task{{Type: taskhandler.TaskInit, Mutation: taskhandler.Init{}.Mutate}}, faulty{}, "without a name"},
		{
			"the context", deployed,
			[]taskhandler.Task{{Type: taskhandler.TaskClone, Mutation: cloned(map[string]string{"Kptfile": "a: ["})}},
			faulty{},
			`failed to generate deployment context: failed to evaluate function "builtins/gen-pkg-context": Kptfile: `,
		},
		{
			"no Kptfile to patch", labelled,
			[]taskhandler.Task{{Type: taskhandler.TaskEdit, Mutation: taskhandler.Edit(map[string]string{"a.yaml": cm})}},
			faulty{},
			"patch the Kptfile: ",
		},
		{
			"a Kptfile that cannot be patched", labelled,
			[]taskhandler.Task{{Type: taskhandler.TaskEdit, Mutation: taskhandler.Edit(map[string]string{"Kptfile": head + "bogus: 1\n"})}},
			faulty{},
			"field bogus not found",
		},
		{
			"a path outside", deployed,
			[]taskhandler.Task{{Type: taskhandler.TaskEdit, Mutation: taskhandler.Edit(map[string]string{"../a": cm})}},
			faulty{},
			`path "../a" names no file inside the package`,
		},
		{
			"the render", deployed,
			[]taskhandler.Task{{Type: taskhandler.TaskEdit, Mutation: taskhandler.Edit(map[string]string{"Kptfile": head + failing, "fail.yaml": failYAML})}},
			faulty{},
			"fn.render: pkg /:\n\tpkg.render:\n\tpipeline.run: ",
		},
		{"the host's update", deployed, []taskhandler.Task{ok}, faulty{update: errors.New("disk full")}, "update the draft: disk full"},
		{"the host's push", deployed, []taskhandler.Task{ok}, faulty{close: errors.New("no route")}, "failed to push package to remote: no route"},
		{
			"the rollback", deployed,
			[]taskhandler.Task{ok},
			faulty{close: errors.New("no route"), discard: errors.New("really")},
			"no route (and the draft could not be discarded: really)",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			draft := tc.host
			if draft.Memory == nil {
				draft.Memory = drafts.NewMemory(nil)
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

// A request that has ended still rolls back.
func TestApplyTaskCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	draft := &faulty{Memory: drafts.NewMemory(nil)}
	_, err := handler().ApplyTask(ctx, draft, draftRevision(), []taskhandler.Task{{
		Type: taskhandler.TaskClone,
		Mutation: func(context.Context, map[string]string) (map[string]string, error) {
			cancel()
			return map[string]string{"Kptfile": head + pipeline, "a.yaml": cm}, nil
		},
	}})
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "discarded") || draft.Open() {
		t.Errorf("got %v, open: %t", err, draft.Open())
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/taskhandler/v1/taskhandlerv1grpc"
	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
	"github.com/krmfn/krmfn/task-handler/options"
)

// operation calls an operation on a draft.
type operation func(ctx context.Context, c taskhandlerv1grpc.TaskHandlerServiceClient) (*taskhandlerv1.DraftOutcome, error)

func apply(req *taskhandlerv1.ApplyTaskRequest) operation {
	return func(ctx context.Context, c taskhandlerv1grpc.TaskHandlerServiceClient) (*taskhandlerv1.DraftOutcome, error) {
		resp, err := c.ApplyTask(ctx, req)
		return resp.GetOutcome(), err
	}
}

func patch(revision *taskhandlerv1.Revision, files ...string) operation {
	return func(ctx context.Context, c taskhandlerv1grpc.TaskHandlerServiceClient) (*taskhandlerv1.DraftOutcome, error) {
		resp, err := c.PatchKptfile(ctx, &taskhandlerv1.PatchKptfileRequest{Revision: revision, Files: request(files...).GetFiles()})
		return resp.GetOutcome(), err
	}
}

func replace(revision *taskhandlerv1.Revision, before []string, after ...string) operation {
	return func(ctx context.Context, c taskhandlerv1grpc.TaskHandlerServiceClient) (*taskhandlerv1.DraftOutcome, error) {
		resp, err := c.ReplaceResources(ctx, &taskhandlerv1.ReplaceResourcesRequest{
			Revision: revision, Files: request(before...).GetFiles(), Resources: request(after...).GetFiles(),
		})
		return resp.GetOutcome(), err
	}
}

func clone(files ...string) *taskhandlerv1.Task {
	return &taskhandlerv1.Task{Task: &taskhandlerv1.Task_Clone{Clone: &taskhandlerv1.FilesTask{Files: request(files...).GetFiles()}}}
}

var (
	draft    = &taskhandlerv1.Revision{Lifecycle: "Draft"}
	labelled = &taskhandlerv1.Revision{Lifecycle: "Draft", Kptfile: &taskhandlerv1.KptfilePatch{
		Labels: &taskhandlerv1.Strings{Values: map[string]string{"team": "shop"}},
	}}
	pushed = &taskhandlerv1.Revision{Lifecycle: "Draft", Annotations: map[string]string{"porch.kpt.dev/push-on-render-failure": "true"}}
	broken = []string{"Kptfile", failing, "fail.yaml", fail}
)

// Operations return an action for the draft and the changes to it.
func TestOperations(t *testing.T) {
	t.Parallel()
	handler := client(t, nil)
	inShop := strings.Replace(cm, "default", "shop", 1)
	const gate = "info:\n  readinessGates:\n  - conditionType: ready\n"
	for name, tc := range map[string]struct {
		operation operation
		action    taskhandlerv1.DraftAction
		// changes are the contents by path: "" for a deleted file, and a prefix if it ends with an ellipsis.
		changes map[string]string
		failure string
	}{
		"no task": {
			apply(&taskhandlerv1.ApplyTaskRequest{Revision: &taskhandlerv1.Revision{Context: &taskhandlerv1.PackageContext{Path: "eu/app"}}}),
			taskhandlerv1.DraftAction_DRAFT_ACTION_CLOSE,
			map[string]string{"Kptfile": "name: app\n…", "README.md": "# app\n…", "package-context.yaml": "name: example\n…"},
			"",
		},
		"init": {
			apply(&taskhandlerv1.ApplyTaskRequest{Revision: labelled, Task: &taskhandlerv1.Task{Task: &taskhandlerv1.Task_Init{
				Init: &taskhandlerv1.InitTask{Name: "app", Description: "of mine"},
			}}}),
			taskhandlerv1.DraftAction_DRAFT_ACTION_CLOSE,
			map[string]string{"Kptfile": "team: shop\n…", "README.md": "of mine\n…", "package-context.yaml": "name: example\n…"},
			"",
		},
		"clone into a deployment": {
			apply(&taskhandlerv1.ApplyTaskRequest{Task: clone("Kptfile", shop, "a.yaml", cm), Revision: &taskhandlerv1.Revision{
				Context: &taskhandlerv1.PackageContext{Path: "eu/app", Repository: "sites", Deployment: true},
			}}),
			taskhandlerv1.DraftAction_DRAFT_ACTION_CLOSE,
			map[string]string{"Kptfile": shop, "a.yaml": inShop, "package-context.yaml": "package-path: eu/app\n…"},
			"",
		},
		"edit": {
			apply(&taskhandlerv1.ApplyTaskRequest{
				Task:  &taskhandlerv1.Task{Task: &taskhandlerv1.Task_Edit{Edit: &taskhandlerv1.FilesTask{Files: request("Kptfile", head).GetFiles()}}},
				Files: request("old.yaml", cm).GetFiles(),
			}),
			taskhandlerv1.DraftAction_DRAFT_ACTION_CLOSE,
			map[string]string{"Kptfile": head, "old.yaml": ""},
			"",
		},
		"upgrade": {
			apply(&taskhandlerv1.ApplyTaskRequest{Task: &taskhandlerv1.Task{Task: &taskhandlerv1.Task_Upgrade{Upgrade: &taskhandlerv1.FilesTask{Files: request("Kptfile", head).GetFiles()}}}}),
			taskhandlerv1.DraftAction_DRAFT_ACTION_CLOSE,
			map[string]string{"Kptfile": head},
			"",
		},
		"clone that does not render": {
			apply(&taskhandlerv1.ApplyTaskRequest{Task: clone(broken...)}),
			taskhandlerv1.DraftAction_DRAFT_ACTION_DISCARD,
			map[string]string{},
			"fn.render: pkg /:",
		},
		"patch": {
			patch(labelled, "Kptfile", shop, "a.yaml", cm), taskhandlerv1.DraftAction_DRAFT_ACTION_CLOSE,
			map[string]string{"Kptfile": "  labels:\n    team: shop\n…", "a.yaml": inShop},
			"",
		},
		"patch that removes": {
			patch(&taskhandlerv1.Revision{Lifecycle: "Draft", Kptfile: &taskhandlerv1.KptfilePatch{ReadinessGates: &taskhandlerv1.ReadinessGates{}}}, "Kptfile", head+gate),
			taskhandlerv1.DraftAction_DRAFT_ACTION_CLOSE,
			map[string]string{"Kptfile": head},
			"",
		},
		"empty patch":        {patch(draft, "Kptfile", head+gate), taskhandlerv1.DraftAction_DRAFT_ACTION_CLOSE, map[string]string{}, ""},
		"patch of a release": {patch(&taskhandlerv1.Revision{Lifecycle: "Published", Kptfile: labelled.GetKptfile()}, "Kptfile", shop, "a.yaml", cm), taskhandlerv1.DraftAction_DRAFT_ACTION_CLOSE, map[string]string{}, ""},
		"patch that does not render": {
			patch(labelled, broken...), taskhandlerv1.DraftAction_DRAFT_ACTION_LEAVE,
			map[string]string{},
			"Error rendering package in kpt function pipeline. Package NOT pushed to remote.",
		},
		"replace": {
			replace(draft, []string{"Kptfile", shop, "a.yaml", cm, "b.yaml", cm}, "Kptfile", shop, "a.yaml", strings.Replace(cm, " # x", "", 1)),
			taskhandlerv1.DraftAction_DRAFT_ACTION_CLOSE,
			map[string]string{"a.yaml": inShop, "b.yaml": ""},
			"",
		},
		"replace that does not render": {
			replace(draft, []string{"Kptfile", head}, broken...), taskhandlerv1.DraftAction_DRAFT_ACTION_KEEP,
			map[string]string{"Kptfile": failing, "fail.yaml": fail},
			"error rendering package in kpt function pipeline. Package NOT pushed to remote.",
		},
		"replace despite a failure": {
			replace(pushed, []string{"Kptfile", head}, broken...), taskhandlerv1.DraftAction_DRAFT_ACTION_CLOSE,
			map[string]string{"Kptfile": failing, "fail.yaml": fail},
			"pushed to remote despite render failure.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome, err := tc.operation(t.Context(), handler)
			if err != nil {
				t.Fatal(err)
			}
			if outcome.GetAction() != tc.action || !strings.Contains(outcome.GetError(), tc.failure) || (outcome.GetError() == "") != (tc.failure == "") {
				t.Errorf("outcome = %v with %q, want %v with %q", outcome.GetAction(), outcome.GetError(), tc.action, tc.failure)
			}
			if failed := outcome.GetResult().GetStatus().GetError() != ""; failed != (tc.failure != "") {
				t.Errorf("status = %v", outcome.GetResult().GetStatus())
			}
			got := map[string]string{}
			for _, c := range outcome.GetChanges() {
				got[c.GetPath()] = string(c.GetContent())
				if part, ok := strings.CutSuffix(tc.changes[c.GetPath()], "…"); ok && strings.Contains(got[c.GetPath()], part) {
					got[c.GetPath()] = tc.changes[c.GetPath()]
				}
				if c.GetDeleted() != (len(c.GetContent()) == 0) {
					t.Errorf("%s: Deleted = %v", c.GetPath(), c.GetDeleted())
				}
			}
			if diff := cmp.Diff(tc.changes, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

// Each step of a package revision returns the same result as a render of the same files.
func TestOperationResult(t *testing.T) {
	t.Parallel()
	handler := client(t, nil)
	rendered, err := handler.Render(t.Context(), request("Kptfile", shop, "a.yaml", cm))
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := patch(draft, "Kptfile", shop, "a.yaml", cm)(t.Context(), handler)
	if err != nil {
		t.Fatal(err)
	}
	want, got := rendered.GetResult(), outcome.GetResult()
	if got.GetPackage() != "." || got.GetInputHash() != want.GetInputHash() || got.GetOutputHash() != want.GetOutputHash() ||
		len(got.GetFunctions()) != 1 || got.GetFunctions()[0].GetImplementation() != want.GetFunctions()[0].GetImplementation() {
		t.Errorf("result = %v, want one like %v", got, want)
	}
	outcome, err = patch(&taskhandlerv1.Revision{Lifecycle: "Published"}, "Kptfile", shop)(t.Context(), handler)
	if err != nil || outcome.GetResult() != nil {
		t.Errorf("result without a render = %v, error %v", outcome.GetResult(), err)
	}
}

func TestOperationErrors(t *testing.T) {
	t.Parallel()
	runner, address, _ := startRunner(t)
	handler := client(t, func(o *options.Options) {
		o.FunctionRunner, o.Limits.MaxPackageFiles, o.Limits.MaxMessageSize = address, 3, 20000
	})
	large := head + "data: " + strings.Repeat("x", 12000) + "\n"
	for name, tc := range map[string]struct {
		operation operation
		code      codes.Code
		want      string
	}{
		"no name":            {apply(&taskhandlerv1.ApplyTaskRequest{}), codes.InvalidArgument, "cannot create an empty package without a path"},
		"empty task":         {apply(&taskhandlerv1.ApplyTaskRequest{Task: &taskhandlerv1.Task{}}), codes.InvalidArgument, "task"},
		"Kptfile exists":     {apply(&taskhandlerv1.ApplyTaskRequest{Revision: &taskhandlerv1.Revision{Context: &taskhandlerv1.PackageContext{Path: "a"}}, Files: request("Kptfile", head).GetFiles()}), codes.InvalidArgument, "there is already a Kptfile"},
		"task twice":         {apply(&taskhandlerv1.ApplyTaskRequest{Task: clone("a", "", "a", "")}), codes.InvalidArgument, `task.clone.files: path "a" appears twice`},
		"task outside":       {apply(&taskhandlerv1.ApplyTaskRequest{Task: clone("../a", "")}), codes.InvalidArgument, `"../a" names no file inside the package`},
		"too many of a task": {apply(&taskhandlerv1.ApplyTaskRequest{Task: clone("a", "", "b", "", "c", "", "d", "")}), codes.ResourceExhausted, "(4 vs. 3), see --max-package-files"},
		"no Kptfile":         {patch(labelled, "a.yaml", cm), codes.InvalidArgument, "add one to the root of the package"},
		"invalid Kptfile":    {patch(labelled, "Kptfile", head+"bogus: 1\n"), codes.InvalidArgument, "bogus"},
		"condition":          {patch(&taskhandlerv1.Revision{Kptfile: &taskhandlerv1.KptfilePatch{Conditions: &taskhandlerv1.Conditions{Items: []*taskhandlerv1.Condition{{Type: "a", Status: "Maybe"}}}}}), codes.InvalidArgument, "revision.kptfile.conditions.items[0].status"},
		"draft outside":      {patch(draft, "../a", cm), codes.InvalidArgument, `files: path "../a" names no file inside the package`},
		"a release":          {replace(&taskhandlerv1.Revision{Lifecycle: "Published"}, nil, "Kptfile", head), codes.FailedPrecondition, `lifecycle value "Published"; package must be Draft`},
		"by nothing":         {replace(draft, []string{"Kptfile", head}), codes.InvalidArgument, "cannot remove all resources of a package"},
		"resource outside":   {replace(draft, nil, "../a", cm), codes.InvalidArgument, `path "../a" names no file inside the package`},
		"resource twice":     {replace(draft, nil, "a", cm, "a", cm), codes.InvalidArgument, `resources: path "a" appears twice`},
		"response too large": {apply(&taskhandlerv1.ApplyTaskRequest{Task: clone("a.yaml", large, "b", strings.Repeat("x", 7900))}), codes.ResourceExhausted, "the response is larger than max"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tc.operation(t.Context(), handler)
			if status.Code(err) != tc.code || !strings.Contains(status.Convert(err).Message(), tc.want) {
				t.Errorf("error = %v, want %v and %q", err, tc.code, tc.want)
			}
		})
	}
	// A cancellation says nothing about the package.
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-runner.hanging; cancel() }()
	if _, err := replace(draft, nil, "Kptfile", hanging, "a.yaml", cm)(ctx, handler); status.Code(err) != codes.Canceled {
		t.Errorf("canceled call: error %v", err)
	}
}

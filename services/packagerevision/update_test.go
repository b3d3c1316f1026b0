// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagerevision_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/services/packagerevision"
	"github.com/krmfn/krmfn/services/render/kptfile"
)

func TestPatchKptfile(t *testing.T) {
	t.Parallel()
	before := map[string]string{"Kptfile": head + "  labels:\n    old: x\n" + pipeline, "a.yaml": cm}
	labelled := draftRevision()
	labelled.Kptfile = kptfile.Patch{Labels: map[string]string{"new": "y"}}

	draft := packagerevision.NewMemoryDraft(before)
	report, err := handler().PatchKptfile(t.Context(), draft, draftRevision(), labelled)
	checkError(t, err, "")
	checkFiles(t, "a draft is patched and rendered", map[string]string{"Kptfile": head + "  labels:\n    new: \"y\"\n" + pipeline, "a.yaml": shopCM}, draft.Published())
	if report == nil || len(report.Result.Items) != 1 {
		t.Errorf("report = %v", report)
	}
	if diff := cmp.Diff([]packagerevision.TaskType{packagerevision.TaskRender}, draft.Reasons()); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}

	draft = packagerevision.NewMemoryDraft(before)
	report, err = handler().PatchKptfile(t.Context(), draft, packagerevision.Revision{Lifecycle: "Proposed"}, labelled)
	checkError(t, err, "")
	checkFiles(t, "what is no draft stays", before, draft.Published())
	if report != nil || draft.Open() {
		t.Errorf("report = %v, draft open = %t, want no report and a closed draft", report, draft.Open())
	}
}

// If a package does not render, the draft stays open and unchanged.
func TestPatchKptfileErrors(t *testing.T) {
	t.Parallel()
	broken := map[string]string{"Kptfile": head + failing, "fail.yaml": failYAML, "a.yaml": cm}
	fine := map[string]string{"Kptfile": head}
	for _, tc := range []struct {
		name   string
		draft  faulty
		want   string
		report bool
	}{
		{"the render", faulty{MemoryDraft: packagerevision.NewMemoryDraft(broken)}, "Error rendering package in kpt function pipeline. Package NOT pushed to remote. " +
			"Fix locally (until 'kpt fn render' succeeds) and retry. Details: fn.render: pkg /:\n\tpkg.render:\n\tpipeline.run: ", true},
		{"the host's update", faulty{MemoryDraft: packagerevision.NewMemoryDraft(fine), update: errors.New("disk full")}, "update the draft: disk full", true},
		{"the host's push", faulty{MemoryDraft: packagerevision.NewMemoryDraft(fine), close: errors.New("no route")}, "failed to push package to remote: no route", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			before := mustFiles(t, &tc.draft)
			report, err := handler().PatchKptfile(t.Context(), &tc.draft, draftRevision(), draftRevision())
			checkError(t, err, tc.want)
			if !tc.draft.Open() || (report != nil) != tc.report {
				t.Errorf("draft open = %t, report = %v", tc.draft.Open(), report)
			}
			checkFiles(t, "draft", before, mustFiles(t, &tc.draft))
		})
	}
}

func TestReplaceResources(t *testing.T) {
	t.Parallel()
	before := map[string]string{"Kptfile": head + pipeline, "a.yaml": cm, "old.yaml": cm}
	after := map[string]string{"Kptfile": strings.Replace(head, " # mine", "", 1) + pipeline, "b.yaml": strings.Replace(cm, " # where", "", 1), "c.txt": "new"}
	draft := packagerevision.NewMemoryDraft(before)
	report, err := handler().ReplaceResources(t.Context(), draft, draftRevision(), after)
	checkError(t, err, "")
	checkFiles(t, "revision", map[string]string{"Kptfile": head + pipeline, "b.yaml": shopCM, "c.txt": "new"}, draft.Published())
	if draft.Open() || report == nil || len(report.Result.Items) != 1 || report.Error != "" {
		t.Errorf("draft open = %t, report = %v", draft.Open(), report)
	}

	draft = packagerevision.NewMemoryDraft(before)
	report, err = handler().ReplaceResources(t.Context(), draft, draftRevision(), map[string]string{"Kptfile": head})
	if checkError(t, err, ""); report != nil {
		t.Errorf("report = %v, want nil", report)
	}
}

func TestReplaceResourcesErrors(t *testing.T) {
	t.Parallel()
	broken := map[string]string{"Kptfile": head + failing, "fail.yaml": failYAML, "a.yaml": cm}
	saved := map[string]string{
		"Kptfile":   strings.Replace(head, "# mine", "# mine\n  annotations:\n    kpt.dev/save-on-render-failure: \"true\"", 1) + failing,
		"fail.yaml": failYAML, "a.yaml": cm,
	}
	fine := map[string]string{"Kptfile": head + pipeline, "a.yaml": cm}
	pushed := packagerevision.Revision{Lifecycle: packagerevision.LifecycleDraft, Annotations: map[string]string{"porch.kpt.dev/push-on-render-failure": "true"}}
	withLabel := strings.Replace(cm, "# where\n", "# where\n  labels:\n    a: b\n", 1)
	for _, tc := range []struct {
		name     string
		revision packagerevision.Revision
		files    map[string]string
		host     faulty
		want     string
		as       any
		report   bool
		open     bool
		// content is the expected a.yaml: "" means unchanged.
		content string
	}{
		{"the render", draftRevision(), broken, faulty{}, "error rendering package in kpt function pipeline. Package NOT pushed to remote. " +
			"Fix locally (until 'kpt fn render' succeeds) and retry. Details: fn.render: ", new(*packagerevision.RenderError), true, true, cm},
		{"the render, pushed", pushed, broken, faulty{}, "error rendering package in kpt function pipeline. Package pushed to remote despite render failure. " +
			"Details: fn.render: ", new(*packagerevision.RenderError), true, false, cm},
		{"the render, saved", draftRevision(), saved, faulty{}, "NOT pushed", new(*packagerevision.RenderError), true, true, withLabel},
		{"the render, saved and pushed", pushed, saved, faulty{}, "despite render failure", new(*packagerevision.RenderError), true, false, withLabel},
		{
			"the render and the host's update", draftRevision(), broken,
			faulty{update: errors.New("disk full")},
			"failed to persist resources after render failure: disk full: fn.render: ", new(*packagerevision.RenderPersistError), true, true, "",
		},
		{
			"the render and the host's push", pushed, broken,
			faulty{close: errors.New("no route")},
			"failed to push package to remote: no route; render error: fn.render: ", new(*packagerevision.PushError), true, true, cm,
		},
		{"the host's update", draftRevision(), fine, faulty{update: errors.New("disk full")}, "update the draft: disk full", nil, true, true, ""},
		{"the host's push", draftRevision(), fine, faulty{close: errors.New("no route")}, "failed to push package to remote: no route", new(*packagerevision.PushError), true, true, shopCM},
		{"a path outside", draftRevision(), map[string]string{"/../x": cm}, faulty{}, "names no file inside the package", nil, false, true, ""},
		{"nothing", draftRevision(), nil, faulty{}, "delete the package revision instead", nil, false, true, ""},
		{"no draft", packagerevision.Revision{Lifecycle: "Published"}, fine, faulty{}, `lifecycle value "Published"; package must be Draft`, nil, false, true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			old := "apiVersion: v1\nkind: Secret\nmetadata:\n  name: old\n"
			draft := tc.host
			draft.MemoryDraft = packagerevision.NewMemoryDraft(map[string]string{"Kptfile": head, "a.yaml": old})
			report, err := handler().ReplaceResources(t.Context(), &draft, tc.revision, tc.files)
			checkError(t, err, tc.want)
			if tc.as != nil && !errors.As(err, tc.as) {
				t.Errorf("error type = %T, want %T", err, tc.as)
			}
			if (report != nil) != tc.report || draft.Open() != tc.open {
				t.Errorf("draft open = %t, report = %v", draft.Open(), report)
			}
			content := draft.Published()["a.yaml"]
			if draft.Open() {
				content = mustFiles(t, &draft)["a.yaml"]
			}
			want := tc.content
			if want == "" {
				want = old
			}
			if diff := cmp.Diff(want, content); diff != "" {
				t.Errorf("a.yaml (-want +got):\n%s", diff)
			}
		})
	}
}

// After cancellation, the draft keeps its previous files, because the new ones were not rendered.
func TestReplaceResourcesCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := map[string]string{"Kptfile": head}
	draft := packagerevision.NewMemoryDraft(before)
	report, err := handler().ReplaceResources(ctx, draft, draftRevision(), map[string]string{"Kptfile": head + pipeline, "a.yaml": cm})
	if !errors.Is(err, context.Canceled) || report != nil || !draft.Open() {
		t.Errorf("ReplaceResources() = %v, report = %v, draft open = %t", err, report, draft.Open())
	}
	checkFiles(t, "draft", before, mustFiles(t, draft))
}

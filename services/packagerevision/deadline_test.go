// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagerevision_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/packagerevision"
	"github.com/krmfn/krmfn/services/render"
)

// An expired deadline says nothing about the package, also if a function runner reports it shortly before. The draft stays
// unchanged, even if failed renders are to be pushed.
func TestDeadlineLeavesDraftUnchanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &packagerevision.Handler{Render: render.Options{Evaluator: middleware.InTime(evaluation.Func(
			func(ctx context.Context, _ evaluation.Request) (evaluation.Response, error) {
				<-ctx.Done()
				return evaluation.Response{}, ctx.Err()
			}))}}
		before := map[string]string{"Kptfile": head + pipeline, "a.yaml": cm}
		draft := packagerevision.NewMemoryDraft(before)
		revision := draftRevision()
		revision.Annotations = map[string]string{packagerevision.PushOnRenderFailureAnnotation: "true"}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		report, err := h.ReplaceResources(ctx, draft, revision, map[string]string{"Kptfile": head + pipeline, "a.yaml": cm, "b.yaml": ""})
		if report != nil || !errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*packagerevision.RenderError)) {
			t.Errorf("report = %v, error = %v, want no report and DeadlineExceeded", report, err)
		}
		if !draft.Open() {
			t.Fatal("the draft was pushed")
		}
		checkFiles(t, "draft", before, mustFiles(t, draft))
	})
}

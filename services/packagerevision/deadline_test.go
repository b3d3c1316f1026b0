// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagerevision_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/packagerevision"
	"github.com/krmfn/krmfn/services/packagerevision/drafts"
	"github.com/krmfn/krmfn/services/render"
)

// That the caller's time is over says nothing of the package, also where a function runner says so shortly before: the draft stays as
// it was, whatever is to be pushed.
func TestDeadlineIsNoVerdict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &packagerevision.Handler{Render: render.Options{Evaluator: evaluation.InTime(evaluation.Func(
			func(ctx context.Context, _ evaluation.Request) (evaluation.Response, error) {
				<-ctx.Done()
				return evaluation.Response{}, ctx.Err()
			}))}}
		before := map[string]string{"Kptfile": head + pipeline, "a.yaml": cm}
		draft := drafts.NewMemory(before)
		revision := draftRevision()
		revision.Annotations = map[string]string{packagerevision.PushOnRenderFailureAnnotation: "true"}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		report, err := h.ReplaceResources(ctx, draft, revision, map[string]string{"Kptfile": head + pipeline, "a.yaml": cm, "b.yaml": ""})
		if report != nil || !errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*packagerevision.RenderError)) {
			t.Errorf("report %v, error %v", report, err)
		}
		if !draft.Open() {
			t.Fatal("the draft is pushed")
		}
		checkFiles(t, "draft", before, mustFiles(t, draft))
	})
}

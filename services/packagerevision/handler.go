// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package packagerevision implements the package operations of a host of package revisions, such as Porch's engine: it applies
// the task that creates a revision, patches the Kptfile of a revision, and replaces the resources of a revision. Each operation
// renders the package.
//
// To begin, implement [Draft] for the host's revisions, or use a [MemoryDraft], and call the methods of
// [Handler].
package packagerevision

import (
	"context"
	"fmt"
	"time"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/services/packagerevision/packagecontext"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// Handler implements the operations. The zero value has no functions. Safe for concurrent use with different drafts.
type Handler struct {
	// Render configures rendering. Drafts are always rendered as with Topmost.
	Render render.Options
}

// render renders the files of a package and returns the resulting files. On failure, these are the original files with the
// status and, if the package wants that, the results of functions before the failure.
//
// The report is nil if there is no package to render, and for errors that do not concern the package, such as cancellation.
func (h *Handler) render(ctx context.Context, files map[string]string) (map[string]string, *renderstatus.Report, error) {
	source, err := packages.NewMemory(files)
	if err != nil {
		return nil, nil, err
	}
	options := h.Render
	options.Topmost = true
	result, err := render.Package(ctx, source, options)
	// An evaluator may return a timeout error shortly before the deadline.
	if middleware.OutOfTime(ctx, err) {
		<-ctx.Done()
		return nil, nil, fmt.Errorf("render the package: %w", context.Cause(ctx))
	}
	source.Apply(result.Output.Changes)
	if report := result.Report; report.Result != nil || report.Error != "" {
		return source.Files(), &report, err
	}
	return source.Files(), nil, err
}

// rollbackTime is the timeout for discarding a draft, which must also work after the request's context has ended.
const rollbackTime = 30 * time.Second

// ApplyTask creates a revision: it applies the task to an empty draft, merges revision.Kptfile into the Kptfile, renders the
// package, and closes the draft. For a clone into a deployment repository, it first generates the package context. An empty
// task list creates an empty package. More than one task is an error.
//
// After any error, ApplyTask discards the draft. If the package does not render, the error is the render's. The report is nil
// if the package was not rendered.
func (h *Handler) ApplyTask(ctx context.Context, draft Draft, revision Revision, tasks []Task) (*renderstatus.Report, error) {
	report, err := h.applyTask(ctx, draft, revision, tasks)
	if err == nil {
		return report, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
	defer cancel()
	if derr := draft.Discard(ctx); derr != nil {
		err = fmt.Errorf("%w (and the draft could not be discarded: %w)", err, derr)
	}
	return report, err
}

func (h *Handler) applyTask(ctx context.Context, draft Draft, revision Revision, tasks []Task) (*renderstatus.Report, error) {
	task, err := soleTask(tasks, revision.Context.Path)
	if err != nil {
		return nil, err
	}
	files, err := draft.Files(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the draft: %w", err)
	}
	if files, err = task.Mutation(ctx, files); err != nil {
		return nil, fmt.Errorf("apply the %s task: %w", task.Type, err)
	}
	if task.Type == TaskClone && revision.Context.Deployment {
		if files, err = packagecontext.Generate(files, revision.Context); err != nil {
			return nil, fmt.Errorf("failed to generate deployment context: %w", err)
		}
	}
	if err := patchKptfile(files, revision.Kptfile, revision.Kptfile.Merge); err != nil {
		return nil, err
	}
	files, report, err := h.render(ctx, files)
	if err != nil {
		return report, err
	}
	if err := draft.Update(ctx, files, task.Type); err != nil {
		return report, fmt.Errorf("update the draft: %w", err)
	}
	if err := draft.Close(ctx); err != nil {
		return report, &PushError{Push: err}
	}
	return report, nil
}

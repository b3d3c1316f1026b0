// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package packagerevision does for a host of package revisions, such as Porch's engine, what happens to packages in three
// moments: it applies the task that creates a revision, patches its Kptfile, and replaces its resources. Each ends in a
// render.
//
// To begin, implement [Draft] for the revisions of the host, or take one of package drafts, and call the methods of [Handler].
package packagerevision

import (
	"context"
	"fmt"
	"time"

	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/packagerevision/packagecontext"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// Handler handles the three moments. Its zero value knows no functions. It may be used by several goroutines at once, each with a draft of its own.
type Handler struct {
	// Render says how packages are rendered. It is the topmost package of a draft that is, whatever Topmost says.
	Render render.Options
}

// render renders the files of a package. What it returns is what they are to be then: on failure, too, when they are the
// files as they came, but for the status and what the package wants saved of a failed render.
//
// The report is nil where there is no package to render. An error that is no verdict on the package, such as the end of the
// context, comes without a report.
func (h *Handler) render(ctx context.Context, files map[string]string) (map[string]string, *renderstatus.Report, error) {
	source, err := packages.NewMemory(files)
	if err != nil {
		return nil, nil, err
	}
	options := h.Render
	options.Topmost = true
	result, err := render.Package(ctx, source, options)
	// An evaluator that ends in time answers shortly before the deadline.
	if evaluation.OutOfTime(ctx, err) {
		<-ctx.Done()
		return nil, nil, fmt.Errorf("render the package: %w", context.Cause(ctx))
	}
	source.Apply(result.Output.Changes)
	if report := result.Report; report.Result != nil || report.Error != "" {
		return source.Files(), &report, err
	}
	return source.Files(), nil, err
}

// rollbackTime is how long giving up a draft may take, after the request that wanted it may have ended.
const rollbackTime = 30 * time.Second

// ApplyTask creates a revision: it makes the task's change in an empty draft, adds what the revision's owner wants the
// Kptfile to say, renders, and closes the draft. A clone whose repository is for deployments gets its package context first.
// An empty task list makes an empty package; one of more than one task is an error.
//
// An error of any kind discards the draft, so that nothing half made is left; it is the render's own where the package
// does not render. The report is nil where the render was not reached, or found no package.
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

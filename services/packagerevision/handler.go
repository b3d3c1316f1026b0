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
	if err != nil && ctx.Err() != nil {
		return nil, nil, fmt.Errorf("render the package: %w", context.Cause(ctx))
	}
	source.Apply(result.Output.Changes)
	if report := result.Report; report.Result != nil || report.Error != "" {
		return source.Files(), &report, err
	}
	return source.Files(), nil, err
}

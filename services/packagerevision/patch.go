// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagerevision

import (
	"context"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/kptfile"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// PatchKptfile replaces values in the Kptfile of a draft with those of the updated revision, renders the package, and closes
// the draft. If the revision's lifecycle was not Draft before, PatchKptfile only closes the draft.
//
// If the package does not render, the error is a *RenderError. After any error, the draft is open and unchanged. The report is
// nil if the package was not rendered.
func (h *Handler) PatchKptfile(ctx context.Context, draft Draft, before, after Revision) (*renderstatus.Report, error) {
	var report *renderstatus.Report
	if before.Lifecycle == LifecycleDraft {
		var err error
		if report, err = h.mutate(ctx, draft, after); err != nil {
			return report, err
		}
	}
	if err := draft.Close(ctx); err != nil {
		return report, &PushError{Push: err}
	}
	return report, nil
}

func (h *Handler) mutate(ctx context.Context, draft Draft, revision Revision) (*renderstatus.Report, error) {
	files, err := draft.Files(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the draft: %w", err)
	}
	if err := patchKptfile(files, revision.Kptfile, revision.Kptfile.Replace); err != nil {
		return nil, err
	}
	files, report, err := h.render(ctx, files)
	switch {
	case err != nil && report == nil:
		return nil, err
	case err != nil:
		return report, &RenderError{Err: err, opening: openingPatch}
	}
	if err := draft.Update(ctx, files, TaskRender); err != nil {
		return report, fmt.Errorf("update the draft: %w", err)
	}
	return report, nil
}

// patchKptfile applies a patch to the Kptfile of the root package. Without a Kptfile, only an empty patch succeeds.
func patchKptfile(files map[string]string, patch kptfile.Patch, apply func(*yaml.RNode) error) error {
	if patch.IsZero() {
		return nil
	}
	content, ok := files[kptfile.FileName]
	if !ok {
		return fmt.Errorf("patch the Kptfile: %w: add one to the root of the package", kptfile.ErrMissing)
	}
	if _, err := kptfile.Parse("/", []byte(content)); err != nil {
		return fmt.Errorf("patch the Kptfile: %w", err)
	}
	documents, err := packages.ParseFile(kptfile.FileName, []byte(content))
	if err != nil {
		return fmt.Errorf("patch the Kptfile: %w", err)
	}
	before := documents[0].Copy()
	if err := apply(documents[0]); err != nil {
		return fmt.Errorf("patch the Kptfile: %w", err)
	}
	if before.MustString() == documents[0].MustString() {
		return nil
	}
	printed, err := packages.PrintFile(documents)
	if err != nil {
		return fmt.Errorf("patch the Kptfile: %w", err)
	}
	files[kptfile.FileName] = string(printed)
	return nil
}

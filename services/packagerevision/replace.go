// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagerevision

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// ReplaceResources replaces the files of a draft, renders the package, and closes the draft. It restores comments that the new
// files have lost, for example because a client converted them to JSON.
//
// If the package does not render, the error is a *RenderError. The draft then has the new files and, if the package wants that,
// the results of functions before the failure. It stays open, or is closed if the revision has PushOnRenderFailureAnnotation. A
// *RenderPersistError means that the package does not render and the draft could not be updated. A *PushError means that the
// draft could not be closed. After any other error, the draft is open and unchanged.
//
// The report may be set with an error too. It is nil if it would be empty, so that the host can keep the previous status.
func (h *Handler) ReplaceResources(ctx context.Context, draft Draft, revision Revision, files map[string]string) (*renderstatus.Report, error) {
	switch {
	case revision.Lifecycle != LifecycleDraft:
		return nil, &LifecycleError{Lifecycle: revision.Lifecycle}
	case len(files) == 0:
		return nil, errors.New("cannot remove all resources of a package: delete the package revision instead")
	}
	before, err := draft.Files(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the draft: %w", err)
	}
	// Check the paths before parsing the files.
	if _, err := packages.NewMemory(files); err != nil {
		return nil, err
	}
	rendered, report, renderErr := h.render(ctx, keepComments(before, files))
	if renderErr != nil && report == nil {
		return nil, renderErr
	}
	if err := draft.Update(ctx, rendered, TaskPush); err != nil {
		if renderErr != nil {
			return nonEmpty(report), &RenderPersistError{Persist: err, Render: renderErr}
		}
		return nonEmpty(report), fmt.Errorf("update the draft: %w", err)
	}
	return nonEmpty(report), push(ctx, draft, revision, renderErr)
}

// push closes the draft, unless the package does not render and must not be pushed.
func push(ctx context.Context, draft Draft, revision Revision, renderErr error) error {
	if renderErr != nil && !revision.pushOnRenderFailure() {
		return &RenderError{Err: renderErr, opening: openingResources}
	}
	if err := draft.Close(ctx); err != nil {
		return &PushError{Push: err, Render: renderErr}
	}
	if renderErr != nil {
		return &RenderError{Pushed: true, Err: renderErr, opening: openingResources}
	}
	return nil
}

// nonEmpty returns the report if it has an error or a result, or else nil.
func nonEmpty(report *renderstatus.Report) *renderstatus.Report {
	if report == nil || report.Error == "" && (report.Result == nil || len(report.Result.Items) == 0) {
		return nil
	}
	return report
}

// identity identifies a resource, in whichever file it is.
type identity struct{ apiVersion, kind, namespace, name string }

func identify(r *yaml.RNode) identity {
	return identity{resource.APIVersion(r), resource.Kind(r), resource.Namespace(r), resource.Name(r)}
}

// keepComments returns the new files with comments restored from the old resources. Files that lack no comments keep their
// bytes, and so do files that cannot be parsed, because the render reports their errors.
func keepComments(before, after map[string]string) map[string]string {
	kept := maps.Clone(after)
	var known map[identity]*yaml.RNode
	for p, content := range after {
		if before[p] == content || !packages.IsResourceFile(p) || templated(content) {
			continue
		}
		if known == nil {
			known = commented(before)
		}
		if with, changed := withComments(p, content, known); changed {
			kept[p] = with
		}
	}
	return kept
}

// templated reports whether comments are code of the template language ytt, which must not be restored.
func templated(content string) bool {
	return strings.Contains(content, "#@") || strings.Contains(content, "#!")
}

// commented returns the resources of all files that contain a comment character.
func commented(files map[string]string) map[identity]*yaml.RNode {
	known := map[identity]*yaml.RNode{}
	for _, p := range slices.Sorted(maps.Keys(files)) {
		content := files[p]
		if !packages.IsResourceFile(p) || !strings.Contains(content, "#") || templated(content) {
			continue
		}
		resources, err := packages.ParseFile(p, []byte(content))
		if err != nil {
			continue
		}
		for _, r := range resources {
			if id := identify(r); known[id] == nil {
				known[id] = r
			}
		}
	}
	return known
}

func withComments(p, content string, known map[identity]*yaml.RNode) (with string, changed bool) {
	resources, err := packages.ParseFile(p, []byte(content))
	if err != nil {
		return "", false
	}
	for _, r := range resources {
		changed = resource.RestoreComments(known[identify(r)], r) || changed
	}
	if !changed {
		return "", false
	}
	printed, err := packages.PrintFile(resources)
	return string(printed), err == nil
}

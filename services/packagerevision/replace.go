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

	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
	"github.com/krmfn/krmfn/services/render/resource"
)

// ReplaceResources replaces the files of a draft by these, renders, and closes the draft. Comments that the files have
// lost, as those do that have been JSON on their way, come back from the resources before.
//
// A package that does not render is a *RenderError. The draft has the new files then, and what the package wants saved of
// a failed render; it is open, or with PushOnRenderFailureAnnotation of the revision closed. A *RenderPersistError says
// that the draft could not take the files, a *PushError that it could not be closed. After any other error the draft is
// open and as it was.
//
// The report comes with an error, too. It is nil where it would say nothing, so that a status from before can stay.
func (h *Handler) ReplaceResources(ctx context.Context, draft Draft, revision Revision, files map[string]string) (*renderstatus.Report, error) {
	switch {
	case revision.Lifecycle != LifecycleDraft:
		return nil, &LifecycleError{Lifecycle: revision.Lifecycle}
	case len(files) == 0:
		return nil, errors.New("cannot replace all resources of a package by none: delete the package revision instead")
	}
	before, err := draft.Files(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the draft: %w", err)
	}
	// The paths are checked before anything is made of what is in the files.
	if _, err := packages.NewMemory(files); err != nil {
		return nil, err
	}
	rendered, report, renderErr := h.render(ctx, keepComments(before, files))
	if renderErr != nil && report == nil {
		return nil, renderErr
	}
	if err := draft.Update(ctx, rendered, TaskPush); err != nil {
		if renderErr != nil {
			return told(report), &RenderPersistError{Persist: err, Render: renderErr}
		}
		return told(report), fmt.Errorf("update the draft: %w", err)
	}
	return told(report), push(ctx, draft, revision, renderErr)
}

// push closes the draft, unless the package does not render and is not to be pushed then.
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

// told returns the report when it has an error or a result.
func told(report *renderstatus.Report) *renderstatus.Report {
	if report == nil || report.Error == "" && (report.Result == nil || len(report.Result.Items) == 0) {
		return nil
	}
	return report
}

// identity is what a resource is known by, in whichever file it is.
type identity struct{ apiVersion, kind, namespace, name string }

func identify(r *yaml.RNode) identity {
	return identity{resource.APIVersion(r), resource.Kind(r), resource.Namespace(r), resource.Name(r)}
}

// keepComments returns the files after a change with the comments of the resources before. Files in which none is missing
// stay byte for byte as they are, and so do those that cannot be read: what is wrong with them is the render's to say.
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

// templated tells whether comments are the code of a template language, ytt: which must not come back by themselves.
func templated(content string) bool {
	return strings.Contains(content, "#@") || strings.Contains(content, "#!")
}

// commented returns the resources of files that may have comments.
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

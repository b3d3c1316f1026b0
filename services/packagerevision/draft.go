// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagerevision

import (
	"context"
	"fmt"

	"github.com/krmfn/krmfn/services/packagerevision/packagecontext"
	"github.com/krmfn/krmfn/services/render/kptfile"
)

// Draft is a package revision that is being made or changed: an open transaction of its host. It is used by one goroutine.
// Close or Discard is the last that happens to it, unless it is left open for the next attempt.
type Draft interface {
	// Files returns all files by path: relative, with slashes. The map is the caller's.
	Files(ctx context.Context) (map[string]string, error)
	// Update replaces all files by these, all of them or, with an error, none. The task is the reason.
	Update(ctx context.Context, files map[string]string, reason TaskType) error
	// Close ends the draft and makes what is in it the revision, which is also pushed to where the host keeps it.
	Close(ctx context.Context) error
	// Discard ends the draft and leaves nothing of it.
	Discard(ctx context.Context) error
}

// Lifecycle is how far a revision is, in the words of Porch's API.
type Lifecycle string

// LifecycleDraft is the only one in which the content of a revision may change.
const LifecycleDraft Lifecycle = "Draft"

// PushOnRenderFailureAnnotation of a package revision, with the value "true", makes resources that do not render replace the
// ones before all the same.
const PushOnRenderFailureAnnotation = "porch.kpt.dev/push-on-render-failure"

// Revision is what the host knows of a package revision beside its files.
type Revision struct {
	// Lifecycle is how far it is.
	Lifecycle Lifecycle
	// Annotations are those of the host's object, not of the Kptfile.
	Annotations map[string]string
	// Kptfile is what its owner wants the Kptfile to say.
	Kptfile kptfile.Patch
	// Context is where the package is.
	Context packagecontext.Context
}

func (r *Revision) pushOnRenderFailure() bool {
	return r.Annotations[PushOnRenderFailureAnnotation] == "true"
}

// LifecycleError says that the content of a revision may not change, as it is no draft.
type LifecycleError struct{ Lifecycle Lifecycle }

func (e *LifecycleError) Error() string {
	return fmt.Sprintf("cannot update a package revision with lifecycle value %q; package must be Draft", e.Lifecycle)
}

// RenderError says that a package does not render, and what has become of the draft. It wraps the render's error.
type RenderError struct {
	// Pushed tells whether the draft has become the revision all the same.
	Pushed bool
	// Err is why it does not render.
	Err error

	opening string
}

// How Porch's two messages open, which its users look for.
const (
	openingPatch     = "Error"
	openingResources = "error"
)

func (e *RenderError) Error() string {
	fate := "NOT pushed to remote. Fix locally (until 'kpt fn render' succeeds) and retry."
	if e.Pushed {
		fate = "pushed to remote despite render failure."
	}
	return fmt.Sprintf("%s rendering package in kpt function pipeline. Package %s Details: %v", e.opening, fate, e.Err)
}

// Unwrap returns the render's error.
func (e *RenderError) Unwrap() error { return e.Err }

// RenderPersistError says that a package does not render and that the host could not keep it as it is.
type RenderPersistError struct {
	// Persist is the host's error, Render the render's.
	Persist, Render error
}

func (e *RenderPersistError) Error() string {
	return fmt.Sprintf("failed to persist resources after render failure: %v: %v", e.Persist, e.Render)
}

// Unwrap returns both errors.
func (e *RenderPersistError) Unwrap() []error { return []error{e.Persist, e.Render} }

// PushError says that the host could not make a draft the revision.
type PushError struct {
	// Push is the host's error. Render is the render's, nil where the package renders.
	Push, Render error
}

func (e *PushError) Error() string {
	if e.Render == nil {
		return fmt.Sprintf("failed to push package to remote: %v", e.Push)
	}
	return fmt.Sprintf("failed to push package to remote: %v; render error: %v", e.Push, e.Render)
}

// Unwrap returns the errors that there are.
func (e *PushError) Unwrap() []error {
	if e.Render == nil {
		return []error{e.Push}
	}
	return []error{e.Push, e.Render}
}

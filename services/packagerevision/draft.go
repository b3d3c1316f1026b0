// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagerevision

import (
	"context"
	"fmt"

	"github.com/krmfn/krmfn/services/packagerevision/packagecontext"
	"github.com/krmfn/krmfn/services/render/kptfile"
)

// Draft is a package revision that is being created or changed; an open transaction of the host. It is used by one goroutine.
// No method is called after Close or Discard has succeeded. A draft may stay open for another attempt.
type Draft interface {
	// Files returns all files by path. Paths are relative and use forward slashes. The caller may modify the map.
	Files(ctx context.Context) (map[string]string, error)
	// Update replaces all files, or none if it returns an error. reason is the task that changes the files.
	Update(ctx context.Context, files map[string]string, reason TaskType) error
	// Close ends the draft and publishes its files as the revision, which includes pushing it to the host's storage.
	Close(ctx context.Context) error
	// Discard ends the draft and drops its files.
	Discard(ctx context.Context) error
}

// Lifecycle is the lifecycle of a revision, with the values of Porch's API.
type Lifecycle string

// LifecycleDraft is the only lifecycle in which a revision's files may change.
const LifecycleDraft Lifecycle = "Draft"

// PushOnRenderFailureAnnotation is the annotation of a package revision that, with the value "true", makes ReplaceResources
// push files even if they do not render.
const PushOnRenderFailureAnnotation = "porch.kpt.dev/push-on-render-failure"

// Revision is the host's metadata of a package revision.
type Revision struct {
	// Lifecycle is the revision's lifecycle.
	Lifecycle Lifecycle
	// Annotations are the annotations of the host's object, not of the Kptfile.
	Annotations map[string]string
	// Kptfile holds the values that the revision's owner wants in the Kptfile.
	Kptfile kptfile.Patch
	// Context describes where the package is.
	Context packagecontext.Context
}

func (r *Revision) pushOnRenderFailure() bool {
	return r.Annotations[PushOnRenderFailureAnnotation] == "true"
}

// LifecycleError reports that a revision's files cannot change, because its lifecycle is not Draft.
type LifecycleError struct{ Lifecycle Lifecycle }

func (e *LifecycleError) Error() string {
	return fmt.Sprintf("cannot update a package revision with lifecycle value %q; package must be Draft", e.Lifecycle)
}

// RenderError reports that a package does not render, and whether the draft was pushed. It wraps the render's error.
type RenderError struct {
	// Pushed reports whether the draft was pushed nevertheless.
	Pushed bool
	// Err is the render's error.
	Err error

	opening string
}

// First words of Porch's two messages. Users may search for them.
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

// RenderPersistError reports that a package does not render and that the host failed to store it.
type RenderPersistError struct {
	// Persist is the host's error. Render is the render's error.
	Persist, Render error
}

func (e *RenderPersistError) Error() string {
	return fmt.Sprintf("failed to persist resources after render failure: %v: %v", e.Persist, e.Render)
}

// Unwrap returns both errors.
func (e *RenderPersistError) Unwrap() []error { return []error{e.Persist, e.Render} }

// PushError reports that the host failed to close a draft.
type PushError struct {
	// Push is the host's error. Render is the render's error, or nil.
	Push, Render error
}

func (e *PushError) Error() string {
	if e.Render == nil {
		return fmt.Sprintf("failed to push package to remote: %v", e.Push)
	}
	return fmt.Sprintf("failed to push package to remote: %v; render error: %v", e.Push, e.Render)
}

// Unwrap returns Push and, if there is one, Render.
func (e *PushError) Unwrap() []error {
	if e.Render == nil {
		return []error{e.Push}
	}
	return []error{e.Push, e.Render}
}

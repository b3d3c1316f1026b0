// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagerevision

import "fmt"

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

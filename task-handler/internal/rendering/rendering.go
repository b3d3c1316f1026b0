// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package rendering renders packages of requests, with limits, metrics and log lines.
package rendering

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// Request is a request to render a package.
type Request struct {
	// Files are the files of the package.
	Files []packages.File
	// Operation is the operation on a draft with the files; nil means a plain render.
	Operation *Operation
	// WriteStatus writes the render status to the root Kptfile.
	WriteStatus bool
	// AllowDeletion accepts output that deletes the Kptfile or all resources; see render.Options.
	AllowDeletion bool
	// Observe receives events like render.Options.Observe; it may be nil.
	Observe func(render.Event)
}

// Result is the result of a request.
type Result struct {
	// Changes are the changed files, sorted by path.
	Changes []packages.Change
	// Report describes the outcome.
	Report renderstatus.Report
	// Package is the directory of the rendered package; "" if there is none.
	Package string
	// Failure is the error of a package that does not render; nil otherwise.
	Failure error
	// Action is what the caller must do with its draft after an operation.
	Action Action
	// InputHash and OutputHash are the dirhash.Hash1 hashes of all files before and after.
	InputHash, OutputHash string
}

// Renderer renders a package. If the package does not render, it returns a result whose report has an error. It returns an *InputError for
// invalid requests, an *evaluation.BusyError, a *TimeoutError, or the cause of the context's end.
type Renderer func(ctx context.Context, req Request) (Result, error)

// InputError reports that the files of a request are not a package, or that the operation is invalid.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }

// TimeoutError reports that a render, including its time in the queue, exceeded the limit.
type TimeoutError struct {
	// Limit is the maximum duration.
	Limit time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the render exceeded the limit of %v, see --max-render-time", e.Limit)
}

// Limited limits the number of running and waiting renders by a gate. Renders that exceed the time limit fail with a *TimeoutError. An earlier
// deadline of the caller remains in effect.
func Limited(r Renderer, gate *middleware.Gate, limit time.Duration) Renderer {
	cause := &TimeoutError{Limit: limit}
	return func(ctx context.Context, req Request) (Result, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, limit, cause)
		defer cancel()
		leave, _, err := gate.Enter(ctx)
		if err != nil {
			return Result{}, err
		}
		defer leave()
		return r(ctx, req)
	}
}

// New returns a renderer. The options apply to all requests.
func New(options render.Options) Renderer {
	return func(ctx context.Context, req Request) (Result, error) {
		source, err := load(req.Files)
		if err != nil {
			return Result{}, &InputError{fmt.Errorf("files: %w", err)}
		}
		result := Result{}
		if result.InputHash, err = hash(source); err != nil {
			return Result{}, &InputError{fmt.Errorf("files: %w", err)}
		}
		o := options
		o.Topmost, o.WriteStatus, o.AllowDeletion, o.Observe = true, req.WriteStatus, req.AllowDeletion, req.Observe
		after := source
		if req.Operation == nil {
			renderPackage(ctx, source, o, &result)
		} else {
			after, err = req.Operation.do(ctx, source, o, &result)
		}
		// A deadline or cancellation says nothing about the package.
		if middleware.OutOfTime(ctx, cmp.Or(err, result.Failure)) {
			<-ctx.Done()
			return Result{}, context.Cause(ctx)
		}
		if err != nil {
			return Result{}, &InputError{err}
		}
		if result.OutputHash, err = hash(after); err != nil {
			return Result{}, fmt.Errorf("hash the rendered files: %w", err)
		}
		return result, nil
	}
}

// renderPackage renders the package in source, and applies the changes to source.
func renderPackage(ctx context.Context, source *packages.Memory, options render.Options, result *Result) {
	rendered, err := render.Package(ctx, source, options)
	result.Report, result.Changes, result.Failure = rendered.Report, rendered.Output.Changes, err
	if rendered.Tree != nil && (rendered.Report.Result != nil || err != nil) {
		result.Package = rendered.Package
	}
	source.Apply(result.Changes)
}

// load returns a package in memory.
func load(files []packages.File) (*packages.Memory, error) {
	byPath, err := ByPath(files)
	if err != nil {
		return nil, err
	}
	return packages.NewMemory(byPath)
}

// ByPath returns the contents of files by path. It returns an error if two files have the same path.
func ByPath(files []packages.File) (map[string]string, error) {
	byPath := make(map[string]string, len(files))
	for _, f := range files {
		if _, twice := byPath[f.Path]; twice {
			return nil, fmt.Errorf("path %q appears twice", f.Path)
		}
		byPath[f.Path] = string(f.Content)
	}
	return byPath, nil
}

// hash returns the hash of all files in the format of go.sum. It returns an error if a path contains a line break.
func hash(source *packages.Memory) (string, error) {
	files := source.Files()
	return dirhash.Hash1(slices.Collect(maps.Keys(files)), func(path string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(files[path])), nil
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package rendering renders the packages of requests, within limits, and tells metrics and the log how it went.
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

// Request asks for one package to be rendered once.
type Request struct {
	// Files are the files of the package.
	Files []packages.File
	// Operation is what happens to the files in the place of a plain render; nil for that.
	Operation *Operation
	// WriteStatus writes how it went to the root Kptfile.
	WriteStatus bool
	// AllowDeletion accepts output that looks like an accident; see render.Options.
	AllowDeletion bool
	// Observe is called as render.Options.Observe is; it may be nil.
	Observe func(render.Event)
}

// Result is what became of a request.
type Result struct {
	// Changes are the files that differ, sorted by path.
	Changes []packages.Change
	// Report tells how it went.
	Report renderstatus.Report
	// Package is the directory of the package that was rendered; "" where there was none.
	Package string
	// Failure is why the package does not render; nil when it does.
	Failure error
	// Action is what is to be done with the draft after a operation.
	Action Action
	// InputHash and OutputHash are the hashes of all files before and after, as dirhash.Hash1 makes them.
	InputHash, OutputHash string
}

// Renderer renders. A package that does not render is a result whose report has an error. Errors: *InputError for files that
// make no package, *evaluation.BusyError, *TimeoutError, and the context's end.
type Renderer func(ctx context.Context, req Request) (Result, error)

// InputError says that the files of a request make no package, or that what is to happen to them cannot.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }

// TimeoutError says that a render took longer than it may, waiting included.
type TimeoutError struct {
	// Limit is how long it may take.
	Limit time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the maximum render time of %v is over, see --max-render-time", e.Limit)
}

// Limited sends renders through a gate, which bounds how many run and wait, and ends those that take longer than limit with
// a *TimeoutError. The caller's own deadline still holds where it is shorter.
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

// New returns what renders, with the options that all requests have in common.
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
		// The end of the caller's time is no verdict on the package.
		if middleware.OutOfTime(ctx, cmp.Or(err, result.Failure)) {
			<-ctx.Done()
			return Result{}, context.Cause(ctx)
		}
		if err != nil {
			return Result{}, &InputError{err}
		}
		if result.OutputHash, err = hash(after); err != nil {
			return Result{}, fmt.Errorf("hash what was rendered: %w", err)
		}
		return result, nil
	}
}

// renderPackage makes the changes in the source, too.
func renderPackage(ctx context.Context, source *packages.Memory, options render.Options, result *Result) {
	rendered, err := render.Package(ctx, source, options)
	result.Report, result.Changes, result.Failure = rendered.Report, rendered.Output.Changes, err
	if rendered.Tree != nil && (rendered.Report.Result != nil || err != nil) {
		result.Package = rendered.Package
	}
	source.Apply(result.Changes)
}

func load(files []packages.File) (*packages.Memory, error) {
	byPath, err := ByPath(files)
	if err != nil {
		return nil, err
	}
	return packages.NewMemory(byPath)
}

// ByPath returns a map of contents. The error says that two files have one path.
func ByPath(files []packages.File) (map[string]string, error) {
	byPath := make(map[string]string, len(files))
	for _, f := range files {
		if _, twice := byPath[f.Path]; twice {
			return nil, fmt.Errorf("path %q names a file that is there already", f.Path)
		}
		byPath[f.Path] = string(f.Content)
	}
	return byPath, nil
}

// hash returns what go.sum files have for a tree of files. The error says that a path has a line break.
func hash(source *packages.Memory) (string, error) {
	files := source.Files()
	return dirhash.Hash1(slices.Collect(maps.Keys(files)), func(path string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(files[path])), nil
	})
}

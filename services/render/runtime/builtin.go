// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package runtime has the function runtimes of a render. [Builtin] evaluates functions that are linked into the program, and [Multi] tries
// several runtimes in order: for example Builtin, and then the function runner of package evaluation/remote.
package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/krmfn/krmfn/internal/resourcelist"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Builtin evaluates functions in its own process. It finds a function by its name alone or with one of the catalog's prefixes
// or Prefix, with any tag; the report has a warning if the tag is of another version. It does not find images with a digest,
// because a digest identifies the bytes of an image.
//
// The zero value finds no function. Safe for concurrent use.
type Builtin struct {
	// Functions are the functions that it evaluates.
	Functions function.Set
	// Prefix is an additional image prefix of the functions; may be empty.
	Prefix string
	// StrictVersions makes Builtin find a function only without a tag or with a tag of its own version.
	StrictVersions bool
	// Origin is appended to the implementation's name and version in reports; may be empty.
	Origin string
	// AsProcess makes reports look like those of a process: standard error has the function's output and the reason of a failure,
	// and the failure's message is the exit status. Otherwise, functions have no standard error and the failure's message is the
	// reason.
	AsProcess bool
	// Environ is the environment of scripts if AsProcess is set, as "KEY=value".
	Environ []string
}

// Evaluate runs a function. It returns a *evaluation.NotFoundError or the context's cause as error. A panic of the function
// fails only this call. A function that ignores its context delays the return of Evaluate until it ends.
func (b Builtin) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	c, err := b.newCall(req.Image)
	if err != nil {
		return evaluation.Response{}, err
	}
	output, err := function.Run(c.context(ctx), c.function, req.ResourceList)
	if ctx.Err() != nil {
		return evaluation.Response{}, context.Cause(ctx)
	}
	report := c.report(err)
	var resultsErr error
	if len(output) > 0 || err == nil {
		report.Results, resultsErr = resourcelist.Results(output)
	}
	if failure := c.failed(report, err, resultsErr); failure.Report != nil {
		return failure, nil
	}
	if req.MaxOutput > 0 && int64(len(output)) > req.MaxOutput {
		report.ExitCode = 1
		message := fmt.Sprintf("output of %d bytes is larger than the limit of %d bytes", len(output), req.MaxOutput)
		return evaluation.Failed(report, evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_TOO_LARGE, message), nil
	}
	return evaluation.Response{ResourceList: output, Report: report}, nil
}

// call is one evaluation of a function.
type call struct {
	Builtin
	image    string
	function function.Function
	begin    time.Time
	stderr   tailBuffer
}

func (b Builtin) newCall(image string) (*call, error) {
	f, err := b.Lookup(image)
	return &call{Builtin: b, image: image, function: f, begin: time.Now()}, err
}

// context returns the function's context.
func (c *call) context(ctx context.Context) context.Context {
	if !c.AsProcess {
		return ctx
	}
	return function.WithProgram(ctx, function.Program{Stderr: &c.stderr, Environ: c.Environ})
}

// report returns the report of a run that ended with err, which may be nil.
func (c *call) report(err error) *evaluationv1.Evaluation {
	report := &evaluationv1.Evaluation{
		Image:          c.image,
		Evaluator:      evaluationv1.Evaluator_EVALUATOR_BUILTIN,
		Implementation: c.implementation(c.function),
		Warning:        reference.Substitution(c.image, c.function.Version),
		Timings:        &evaluationv1.Timings{Execute: durationpb.New(time.Since(c.begin))},
	}
	if c.AsProcess {
		if err != nil {
			function.ReportFailure(&c.stderr, err)
		}
		report.Stderr, report.StderrDroppedBytes = c.stderr.tail()
	}
	return report
}

func (b Builtin) implementation(f function.Function) string {
	return strings.TrimSpace(f.Implementation() + " " + b.Origin)
}

// failed returns a failure response if the function failed or its results are invalid, or else the zero response.
func (c *call) failed(report *evaluationv1.Evaluation, err, resultsErr error) evaluation.Response {
	if err == nil && resultsErr == nil {
		return evaluation.Response{}
	}
	report.ExitCode = 1
	switch {
	case err == nil:
		return evaluation.Failed(report, evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_INVALID, resultsErr.Error())
	case c.AsProcess:
		return evaluation.Failed(report, evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, "exit status 1")
	case errors.As(err, new(*function.PanicError)):
		return evaluation.Failed(report, evaluationv1.FailureReason_FAILURE_REASON_PANIC, err.Error())
	}
	return evaluation.Failed(report, evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, err.Error())
}

// Lookup returns the function for an image. The error is a *evaluation.NotFoundError.
func (b Builtin) Lookup(ref string) (function.Function, error) {
	f, ok := b.Functions.Lookup(reference.CatalogName(ref, b.Prefix))
	if !ok {
		return f, &evaluation.NotFoundError{Image: ref}
	}
	_, tag, digest := reference.Split(ref)
	switch {
	case digest != "":
		return f, fmt.Errorf("%w: the built-in function %s %s cannot be used for an image with a digest",
			&evaluation.NotFoundError{Image: ref}, f.Name, f.Version)
	case b.StrictVersions && tag != "" && !f.OwnsTag(tag):
		return f, fmt.Errorf("%w: the built-in function %s %s can be used only for the tags %s",
			&evaluation.NotFoundError{Image: ref}, f.Name, f.Version, strings.Join(f.Tags(), ", "))
	}
	return f, nil
}

// ListFunctions returns the functions, sorted by name.
func (b Builtin) ListFunctions(context.Context) ([]*evaluatorv1.Function, error) {
	list := make([]*evaluatorv1.Function, 0, len(b.Functions))
	for _, f := range b.Functions {
		list = append(list, &evaluatorv1.Function{
			Name:           f.Name,
			Evaluator:      evaluationv1.Evaluator_EVALUATOR_BUILTIN,
			Implementation: b.implementation(f),
			Images:         b.images(f),
			AnyTag:         !b.StrictVersions,
		})
	}
	return list, nil
}

// images returns the repositories from which f is found or, with StrictVersions, the references. The list is sorted.
func (b Builtin) images(f function.Function) []string {
	images := f.Images(b.StrictVersions, "", reference.CatalogPrefix, reference.FormerCatalogPrefix, strings.TrimRight(b.Prefix, "/"))
	slices.Sort(images)
	return slices.Compact(images)
}

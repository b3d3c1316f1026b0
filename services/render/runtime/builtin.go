// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package runtime has the function runtimes of a render: what evaluates the functions of a pipeline from the caller's side.
// Each is an evaluation.Evaluator.
//
// [Builtin] evaluates functions that are linked into the program, [GRPC] sends them to a function runner, [Exec] runs command
// lines, and [Multi] asks several of them in order.
package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/evaluation/resourcelist"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Builtin evaluates functions in the process itself. A function answers to its name under either prefix of the catalog, under
// Prefix, and alone, whatever the tag; a report warns of a tag that is not its own. All other images are not found, among them
// those with a digest, which names the bytes of an image.
//
// The zero value finds no function. It may be used by any number of goroutines at once.
type Builtin struct {
	// Functions are those that it evaluates.
	Functions function.Set
	// Prefix is one more prefix under which the catalog's functions are known; may be empty.
	Prefix string
	// StrictVersions makes images not found whose tag is not one of the implementation's own.
	StrictVersions bool
	// Origin is put behind name and version of the implementation in reports; may be empty.
	Origin string
	// AsProcess has reports tell what they would of a function in a process of its own: in standard error what it printed,
	// and why it failed, and beside it the exit code. Otherwise functions print nowhere, and the failure says why.
	AsProcess bool
	// Environ is the environment that scripts find with AsProcess, "KEY=value" each.
	Environ []string
}

// Evaluate runs a function. The error is an *evaluation.NotFoundError or the context's end; a function that
// panics is a failure of this call only. A function that does not look at its context ends before Evaluate returns.
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
	stderr   printed
}

func (b Builtin) newCall(image string) (*call, error) {
	f, err := b.Lookup(image)
	return &call{Builtin: b, image: image, function: f, begin: time.Now()}, err
}

// context returns the context that the function gets.
func (c *call) context(ctx context.Context) context.Context {
	if !c.AsProcess {
		return ctx
	}
	return function.WithProgram(ctx, function.Program{Stderr: &c.stderr, Environ: c.Environ})
}

// report tells how the function ran, which ended with an error; nil for none.
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
		report.Stderr, report.StderrDroppedBytes = c.stderr.end()
	}
	return report
}

func (b Builtin) implementation(f function.Function) string {
	return strings.TrimSpace(f.Implementation() + " " + b.Origin)
}

// failed reports a failure of the function, or else that its results cannot be read. Without either it returns nothing.
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

// Lookup returns the function that answers to an image. The error is an *evaluation.NotFoundError.
func (b Builtin) Lookup(ref string) (function.Function, error) {
	f, ok := b.Functions.Lookup(reference.CatalogName(ref, b.Prefix))
	if !ok {
		return f, &evaluation.NotFoundError{Image: ref}
	}
	_, tag, digest := reference.Split(ref)
	switch {
	case digest != "":
		return f, fmt.Errorf("%w: a digest is not answered by %s %s, which is in this program and is not an image",
			&evaluation.NotFoundError{Image: ref}, f.Name, f.Version)
	case b.StrictVersions && tag != "" && !f.OwnsTag(tag):
		return f, fmt.Errorf("%w: the implementation of %s here is %s and answers to the tags %s",
			&evaluation.NotFoundError{Image: ref}, f.Name, f.Version, strings.Join(f.Tags(), ", "))
	}
	return f, nil
}

// ListFunctions lists the functions, sorted by name.
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

// images are the repositories that a function answers to, or the references where only its own tags count; sorted.
func (b Builtin) images(f function.Function) []string {
	images := f.Images(b.StrictVersions, "", reference.CatalogPrefix, reference.FormerCatalogPrefix, strings.TrimRight(b.Prefix, "/"))
	slices.Sort(images)
	return slices.Compact(images)
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package runtime has the function runtimes of a render: what evaluates the functions of a pipeline from the caller's side.
// Each is an evaluation.Evaluator.
//
// [Builtin] evaluates functions that are linked into the program, [GRPC] sends them to a function runner, [Exec] runs command
// lines, and [Multi] asks several of them in order.
package runtime

import (
	"cmp"
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
// Prefix, and alone, whatever the tag or digest. All other images are not found.
//
// The zero value finds no function. It may be used by any number of goroutines at once.
type Builtin struct {
	// Functions are those that it evaluates.
	Functions function.Set
	// Prefix is one more prefix under which the catalog's functions are known; may be empty.
	Prefix string
	// StrictVersions makes images not found whose tag, or digest, is not one of the implementation's own.
	StrictVersions bool
}

// Evaluate runs a function. The error is an *evaluation.NotFoundError or the context's end; a function that
// panics is a failure of this call only. A function that does not look at its context ends before Evaluate returns.
func (b Builtin) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	f, err := b.lookup(req.Image)
	if err != nil {
		return evaluation.Response{}, err
	}
	return run(ctx, f, req)
}

func run(ctx context.Context, f function.Function, req evaluation.Request) (evaluation.Response, error) {
	begin := time.Now()
	output, err := function.Run(ctx, f, req.ResourceList)
	if ctx.Err() != nil {
		return evaluation.Response{}, context.Cause(ctx)
	}
	report := newReport(req.Image, f, begin)
	var resultsErr error
	if len(output) > 0 || err == nil {
		report.Results, resultsErr = resourcelist.Results(output)
	}
	if failure := failed(report, err, resultsErr); failure.Report != nil {
		return failure, nil
	}
	if req.MaxOutput > 0 && int64(len(output)) > req.MaxOutput {
		report.ExitCode = 1
		message := fmt.Sprintf("output of %d bytes is larger than the limit of %d bytes", len(output), req.MaxOutput)
		return evaluation.Failed(report, evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_TOO_LARGE, message), nil
	}
	return evaluation.Response{ResourceList: output, Report: report}, nil
}

func newReport(image string, f function.Function, begin time.Time) *evaluationv1.Evaluation {
	return &evaluationv1.Evaluation{
		Image:          image,
		Evaluator:      evaluationv1.Evaluator_EVALUATOR_BUILTIN,
		Implementation: f.Name + " " + f.Version,
		Timings:        &evaluationv1.Timings{Execute: durationpb.New(time.Since(begin))},
	}
}

// failed reports a failure of the function, or else that its results cannot be read. Without either it returns nothing.
func failed(report *evaluationv1.Evaluation, err, resultsErr error) evaluation.Response {
	reason := evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE
	switch {
	case errors.As(err, new(*function.PanicError)):
		reason = evaluationv1.FailureReason_FAILURE_REASON_PANIC
	case err == nil && resultsErr == nil:
		return evaluation.Response{}
	case err == nil:
		reason = evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_INVALID
	}
	report.ExitCode = 1
	return evaluation.Failed(report, reason, cmp.Or(err, resultsErr).Error())
}

func (b Builtin) lookup(ref string) (function.Function, error) {
	f, ok := b.Functions.Lookup(reference.CatalogName(ref, b.Prefix))
	if !ok {
		return f, &evaluation.NotFoundError{Image: ref}
	}
	_, tag, digest := reference.Split(ref)
	if b.StrictVersions && (digest != "" || (tag != "" && !f.OwnsTag(tag))) {
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
			Implementation: f.Name + " " + f.Version,
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

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package evaluation defines how functions are evaluated: an [Evaluator] gets a [Request] and returns a [Response] or one of the errors
// of this package.
//
// Package evaluation/remote has the evaluator for the functions of a function runner. Package render/runtime has the one for functions
// that are linked into the program, and packages that use the functions of a pipeline are rendered by package render.
package evaluation

import (
	"context"
	"errors"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

// Request is a request to run a function once on a ResourceList.
type Request struct {
	// Image identifies the function: a short name, or a reference with registry, tag or digest.
	Image string
	// ResourceList is one YAML document of kind ResourceList. Evaluators pass it on without changes.
	ResourceList []byte
	// MaxOutput is the maximum output size, in bytes, that the caller accepts. 0 means the evaluator's limit.
	MaxOutput int64
}

// Response is the result of a request.
type Response struct {
	// ResourceList is the function's output, or nil if the evaluation failed.
	ResourceList []byte
	// Report is never nil. Its Failure is set if the function has failed or could not be started.
	Report *evaluationv1.Evaluation
}

// Evaluator evaluates functions. If a function fails, Evaluate returns a response whose report has a failure. An error means that the
// function's outcome is unknown: *NotFoundError, *BusyError, the context's cause, or a problem between caller and function.
//
// Evaluators are safe for concurrent use, and return soon after ctx ends.
type Evaluator interface {
	Evaluate(ctx context.Context, req Request) (Response, error)
}

// Func adapts a function to the Evaluator interface.
type Func func(ctx context.Context, req Request) (Response, error)

// Evaluate calls f.
func (f Func) Evaluate(ctx context.Context, req Request) (Response, error) { return f(ctx, req) }

// Failed returns a response with a failure. It adds the failure to report. The message must be one line.
func Failed(report *evaluationv1.Evaluation, reason evaluationv1.FailureReason, message string) Response {
	report.Failure = &evaluationv1.Failure{Reason: reason, Message: message}
	return Response{Report: report}
}

// Chain returns an evaluator that tries evaluators in order. It tries the next one only after a *NotFoundError; any other error, and
// any response, is returned. An empty chain returns a *NotFoundError.
func Chain(evaluators ...Evaluator) Evaluator {
	return Func(func(ctx context.Context, req Request) (Response, error) {
		for _, e := range evaluators {
			resp, err := e.Evaluate(ctx, req)
			if !errors.As(err, new(*NotFoundError)) {
				return resp, err
			}
		}
		return Response{}, &NotFoundError{Image: req.Image}
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package evaluation has the vocabulary of evaluating functions: what is asked, what is answered, how it fails, and the
// behaviour that is added to any evaluator by wrapping it. Evaluators are in services/render/runtime, for those who call.
package evaluation

import (
	"context"
	"errors"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

// Request asks for one function to be run once over one ResourceList.
type Request struct {
	// Image names the function: a short name, or a reference with registry, tag or digest.
	Image string
	// ResourceList is one YAML document of kind ResourceList. Evaluators hand it on byte for byte and do not change it.
	ResourceList []byte
	// MaxOutput is the most bytes of output that the caller can take; 0 means the evaluator's own limit.
	MaxOutput int64
}

// Response is what came of a request.
type Response struct {
	// ResourceList is the function's output; nil when the evaluation failed.
	ResourceList []byte
	// Report is never nil. Its Failure is set when the function ran, or should have run, and has no output to give.
	Report *evaluationv1.Evaluation
}

// Evaluator evaluates functions. A function that failed is a response whose report has a failure; an error means that no
// verdict on the function could be had: *NotFoundError, *BusyError, the context's end, or trouble on the way.
//
// Evaluators may be used by any number of goroutines at once, and return soon after ctx ends.
type Evaluator interface {
	Evaluate(ctx context.Context, req Request) (Response, error)
}

// Func is a function that is an Evaluator.
type Func func(ctx context.Context, req Request) (Response, error)

// Evaluate calls f.
func (f Func) Evaluate(ctx context.Context, req Request) (Response, error) { return f(ctx, req) }

// Failed returns a response that reports a failure, with what else is known in report. The message is one line.
func Failed(report *evaluationv1.Evaluation, reason evaluationv1.FailureReason, message string) Response {
	report.Failure = &evaluationv1.Failure{Reason: reason, Message: message}
	return Response{Report: report}
}

// Chain asks evaluators in order. The first that knows the function gives the answer, failure or not; only a
// *NotFoundError moves on. An empty chain knows no function.
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

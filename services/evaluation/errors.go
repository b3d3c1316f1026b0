// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package evaluation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

// NotFoundError says that an evaluator does not know a function. It is the only error that makes a chain go on.
type NotFoundError struct {
	// Image is the image as it was asked for.
	Image string
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("function %q not found", e.Image) }

// StartError says that nothing could be started that would run a function. The call has not run.
type StartError struct {
	// Image is the image as it was resolved, Err why.
	Image string
	Err   error
	// Rejected means that the fault is in the image that the caller named: its registry does not have it, denies access to it, or
	// has something else under that name, or a policy refuses it.
	Rejected bool
}

func (e *StartError) Error() string {
	return fmt.Sprintf("unable to get the grpc client to the pod for %s: %v", e.Image, e.Err)
}

// Unwrap returns why.
func (e *StartError) Unwrap() error { return e.Err }

// BusyError says that too many calls already wait for a place. The call has not started and may be sent again.
type BusyError struct {
	// Running and Waiting are the limits that are reached.
	Running, Waiting int
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("%d evaluations run and %d wait already, try again later", e.Running, e.Waiting)
}

// TimeoutError says that an evaluation took longer than it may, wherever its time went.
type TimeoutError struct {
	// Limit is how long it may take.
	Limit time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the maximum evaluation time of %v is over", e.Limit)
}

// CodeOK is the Code of an evaluation that has an output.
const CodeOK = "ok"

// Code returns how an evaluation ended, as one word for metrics and traces: CodeOK, the failure's reason such as "exit_code", or
// the kind of the error.
func Code(resp Response, err error) string {
	var start *StartError
	switch {
	case errors.As(err, new(*NotFoundError)):
		return "not_found"
	case errors.As(err, new(*BusyError)):
		return "busy"
	case errors.As(err, new(*ExhaustedError)):
		return "memory"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, new(*TimeoutError)):
		return "deadline"
	case errors.As(err, &start) && start.Rejected:
		return "image_rejected"
	case start != nil:
		return "start_failed"
	case err != nil:
		return "error"
	case resp.Report.GetFailure() == nil:
		return CodeOK
	}
	name := evaluationv1.FailureReason_name[int32(resp.Report.GetFailure().GetReason())]
	return strings.ToLower(strings.TrimPrefix(name, "FAILURE_REASON_"))
}

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

// NotFoundError reports that an evaluator does not know a function. It is the only error after which a chain tries the next evaluator.
type NotFoundError struct {
	// Image is the image of the request.
	Image string
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("function %q not found", e.Image) }

// StartError reports that no process or pod could be started for the function. The call has not run.
type StartError struct {
	// Image is the resolved image. Err is the cause.
	Image string
	Err   error
	// Rejected means that the image in the request is the cause: the registry does not have it, denies access, or has something else
	// under its name, or a policy refuses it.
	Rejected bool
}

func (e *StartError) Error() string {
	return fmt.Sprintf("unable to get the grpc client to the pod for %s: %v", e.Image, e.Err)
}

// Unwrap returns Err.
func (e *StartError) Unwrap() error { return e.Err }

// BusyError reports that the queue is full. The call has not run and can be retried.
type BusyError struct {
	// Running and Waiting are the limits that were reached.
	Running, Waiting int
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("%d evaluations run and %d wait already, try again later", e.Running, e.Waiting)
}

// TimeoutError reports that an evaluation exceeded the maximum time, including the time it waited.
type TimeoutError struct {
	// Limit is the maximum time.
	Limit time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the maximum evaluation time of %v is over", e.Limit)
}

// CodeOK is the Code of an evaluation that succeeded.
const CodeOK = "ok"

// Code returns the outcome of an evaluation as a word for metrics and traces: CodeOK, the failure's reason such as "exit_code", or the
// kind of the error.
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

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package evaluation

import (
	"fmt"
	"time"
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

// ExhaustedError reports that a call could not get enough memory. The call has failed, or did not run. Other calls are not affected.
type ExhaustedError struct {
	// Total is the size of the budget in bytes, or the call's limit if Waiting is 0.
	Total int64
	// Waiting is the maximum number of waiting calls, which was reached. It is 0 if the call used up its memory.
	Waiting int
}

func (e *ExhaustedError) Error() string {
	if e.Waiting == 0 {
		return fmt.Sprintf("the function needs more than the %d MiB of memory that it may have: send it a smaller package, "+
			"or give the server that runs it a larger memory limit", e.Total>>20)
	}
	return fmt.Sprintf("%d calls wait already for a part of the %d MiB that calls may have in flight: try again later, "+
		"or raise --max-bytes-in-flight with the memory limit", e.Waiting, e.Total>>20)
}

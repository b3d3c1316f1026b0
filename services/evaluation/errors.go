// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package evaluation

import (
	"fmt"
	"time"
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

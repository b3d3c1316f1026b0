// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"errors"
	"strings"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// CodeOK is the Code of an evaluation that succeeded.
const CodeOK = "ok"

// Code returns the outcome of an evaluation as a word for metrics and traces: CodeOK, the failure's reason such as "exit_code", or the
// kind of the error.
func Code(resp evaluation.Response, err error) string {
	var start *evaluation.StartError
	switch {
	case errors.As(err, new(*evaluation.NotFoundError)):
		return "not_found"
	case errors.As(err, new(*evaluation.BusyError)):
		return "busy"
	case errors.As(err, new(*evaluation.ExhaustedError)):
		return "memory"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, new(*evaluation.TimeoutError)):
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

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"errors"
	"strings"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/wrapper-server/internal/drain"
)

const outcomeOK = "ok"

// outcome words how an evaluation ended, as the function runner's metrics do: ok, the failure's reason, or why the function
// has not run.
func outcome(resp evaluation.Response, err error) string {
	switch {
	case errors.Is(err, drain.ErrDraining):
		return "draining"
	case errors.As(err, new(*evaluation.BusyError)):
		return "busy"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline"
	case err != nil:
		return "error"
	case resp.Report.GetFailure() == nil:
		return outcomeOK
	}
	name := evaluationv1.FailureReason_name[int32(resp.Report.GetFailure().GetReason())]
	return strings.ToLower(strings.TrimPrefix(name, "FAILURE_REASON_"))
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package porch

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// A status travels in headers, which proxies limit far below what gRPC allows.
const (
	maxMessageStderr = 16 << 10
	maxDetails       = 32 << 10
)

// FailureStatus returns the status by which a failed evaluation is told on the frozen evaluator contract: code and message
// in the shapes that Porch users know, and the report as status detail. The report's failure must be set. Standard error
// in message and detail is cut to its last 16 KiB, and the detail's results are left out where it would pass 32 KiB.
func FailureStatus(image string, report *evaluationv1.Evaluation) *status.Status {
	st := status.New(failureCode(report.GetFailure().GetReason()), failureMessage(image, report))
	detailed, err := st.WithDetails(bounded(report))
	if err != nil {
		return st
	}
	return detailed
}

func failureCode(reason evaluationv1.FailureReason) codes.Code {
	switch reason {
	case evaluationv1.FailureReason_FAILURE_REASON_DEADLINE:
		return codes.DeadlineExceeded
	case evaluationv1.FailureReason_FAILURE_REASON_CANCELED:
		return codes.Canceled
	case evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_TOO_LARGE:
		return codes.ResourceExhausted
	default:
		return codes.Internal
	}
}

// failureMessage words a failure as Porch's exec runtime does, or for function pods as its wrapper server does. The
// prefixes are searched for in logs and tests of installations.
func failureMessage(image string, report *evaluationv1.Evaluation) string {
	why, stderr := report.GetFailure().GetMessage(), cutStderr(report)
	switch report.GetFailure().GetReason() {
	case evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_INVALID:
		return fmt.Sprintf("failed to parse the output of function %q with stderr '%s': %s", image, stderr, why)
	case evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, evaluationv1.FailureReason_FAILURE_REASON_SIGNAL:
		if report.GetEvaluator() == evaluationv1.Evaluator_EVALUATOR_POD {
			return podMessage(image, report.GetResults(), stderr, why)
		}
	default:
	}
	message := fmt.Sprintf("Failed to execute function %q: %s (%s)", image, why, stderr)
	if len(report.GetResults()) > 0 {
		message += " with structured results: " + evaluation.ResultsText(report.GetResults())
	}
	return message
}

// podMessage words what a function in a pod has to say of its exit, without what there is none of.
func podMessage(image string, results []*evaluationv1.Result, stderr, why string) string {
	var parts []string
	if len(results) > 0 {
		parts = append(parts, "structured results: "+evaluation.ResultsText(results))
	}
	if text := strings.TrimSpace(stderr); text != "" {
		parts = append(parts, "stderr: "+text)
	}
	message := fmt.Sprintf("failed to evaluate function %q", image)
	if len(parts) > 0 {
		message += " with " + strings.Join(parts, " and ")
	}
	return message + " (" + why + ")"
}

func cutStderr(report *evaluationv1.Evaluation) string {
	stderr := report.GetStderr()
	over := max(len(stderr)-maxMessageStderr, 0)
	text := strings.ToValidUTF8(string(stderr[over:]), "\uFFFD")
	if dropped := report.GetStderrDroppedBytes() + int64(over); dropped > 0 {
		return fmt.Sprintf("[%d bytes before this are left out] %s", dropped, text)
	}
	return text
}

// bounded returns the report, or a copy of it that fits into a header.
func bounded(report *evaluationv1.Evaluation) *evaluationv1.Evaluation {
	if proto.Size(report) <= maxDetails && len(report.GetStderr()) <= maxMessageStderr {
		return report
	}
	small := proto.CloneOf(report)
	if over := len(small.GetStderr()) - maxMessageStderr; over > 0 {
		small.Stderr = small.GetStderr()[over:]
		small.StderrDroppedBytes += int64(over)
	}
	if proto.Size(small) > maxDetails {
		small.Results = nil
	}
	return small
}

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

// Limits of a status, in bytes. A status is sent in HTTP/2 headers, and proxies limit these much more than gRPC does.
const (
	maxMessageStderr = 16 << 10
	maxDetails       = 32 << 10
)

// FailureStatus returns the status of a failed evaluation in the evaluator contract: code and message have Porch's form, and the report
// is a status detail. The report must have a failure. Standard error in message and detail is shortened to its last 16 KiB. Results are
// omitted from a detail that would exceed 32 KiB.
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

// failureMessage returns the message of Porch's exec runtime or, for function pods, of Porch's wrapper server. Installations search
// logs for these prefixes.
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

// podMessage returns the message of a function pod whose function failed. It omits results and standard error if they are empty.
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

// bounded returns the report, or a shortened copy that fits into a header.
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

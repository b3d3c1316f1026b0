// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podevaluator

import (
	"strings"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

// restrictions are what functions say that a restricted pod does not let them do, and what to tell their users.
var restrictions = []struct{ says, hint string }{
	{"read-only file system", "function pods have a read-only root file system and may write below /tmp only"},
	{"permission denied", "function pods do not run as root"},
	{"operation not permitted", "function pods do not run as root and have no capabilities"},
}

// explainRestrictions adds to the failure of a function that a restricted pod is too narrow for what to do about it.
func explainRestrictions(report *evaluationv1.Evaluation) {
	failure := report.GetFailure()
	switch failure.GetReason() {
	case evaluationv1.FailureReason_FAILURE_REASON_START, evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, evaluationv1.FailureReason_FAILURE_REASON_SIGNAL:
	default:
		return
	}
	text := strings.ToLower(failure.GetMessage() + "\n" + string(report.GetStderr()))
	for _, r := range restrictions {
		if !strings.Contains(text, r.says) {
			continue
		}
		hint := r.hint + ": change the image, or the pod with --function-pod-template"
		failure.Message += " (" + hint + ")"
		// Where the message is not shown, standard error is.
		report.Stderr = append(report.GetStderr(), "["+hint+"]\n"...)
		return
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package porch

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

func TestFailureStatusIsBounded(t *testing.T) {
	t.Parallel()
	report := &evaluationv1.Evaluation{
		Stderr: append(bytes.Repeat([]byte("x"), 1<<20), "the end"...),
		Failure: &evaluationv1.Failure{
			Reason: evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, Message: "exit status 1",
		},
	}
	st := FailureStatus("img", report)
	if n := proto.Size(st.Proto()); n > 2*maxMessageStderr+maxDetails {
		t.Errorf("status has %d bytes", n)
	}
	if text := st.Message(); !strings.HasSuffix(text, "the end)") || !strings.Contains(text, "[1032199 bytes before this are left out]") {
		t.Errorf("message = %.100q, want the end of stderr and the number of omitted bytes", text)
	}
	if len(report.GetStderr()) != 1<<20+len("the end") {
		t.Error("FailureStatus() modified the report")
	}
}

func TestFailureCodes(t *testing.T) {
	t.Parallel()
	for reason, want := range map[evaluationv1.FailureReason]codes.Code{
		evaluationv1.FailureReason_FAILURE_REASON_START:            codes.Internal,
		evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE:        codes.Internal,
		evaluationv1.FailureReason_FAILURE_REASON_DEADLINE:         codes.DeadlineExceeded,
		evaluationv1.FailureReason_FAILURE_REASON_CANCELED:         codes.Canceled,
		evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_TOO_LARGE: codes.ResourceExhausted,
	} {
		st := FailureStatus("img", &evaluationv1.Evaluation{Failure: &evaluationv1.Failure{Reason: reason}})
		if st.Code() != want {
			t.Errorf("code of %v = %v, want %v", reason, st.Code(), want)
		}
	}
}

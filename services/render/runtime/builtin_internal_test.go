// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"google.golang.org/protobuf/testing/protocmp"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

func TestBuiltinReportsFailures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		process func(context.Context, *fn.ResourceList) (bool, error)
		reason  evaluationv1.FailureReason
		message string
		results []*evaluationv1.Result
	}{
		"panic": {
			func(context.Context, *fn.ResourceList) (bool, error) { panic("oh no") },
			evaluationv1.FailureReason_FAILURE_REASON_PANIC, "KRM function panicked with: oh no", nil,
		},
		"error": {
			func(context.Context, *fn.ResourceList) (bool, error) { return false, errors.New("no good") },
			evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, "no good", nil,
		},
		"results": {
			func(_ context.Context, list *fn.ResourceList) (bool, error) {
				list.Results = append(list.Results, fn.GeneralResult("bad", fn.Error))
				return false, nil
			},
			evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, "error: function failure",
			[]*evaluationv1.Result{{Message: "bad", Severity: "error"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := function.Function{Name: "test", Version: "v1.0.0", Summary: "test", Process: tc.process}
			resp, err := Builtin{Functions: function.NewSet(f)}.Evaluate(t.Context(), evaluation.Request{
				Image: "test", ResourceList: []byte("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"),
			})
			if err != nil || resp.ResourceList != nil {
				t.Fatalf("Evaluate() = %v, %v", resp, err)
			}
			want := &evaluationv1.Evaluation{
				Image: "test", Evaluator: evaluationv1.Evaluator_EVALUATOR_BUILTIN, Implementation: "test v1.0.0", ExitCode: 1, Results: tc.results,
				Failure: &evaluationv1.Failure{Reason: tc.reason, Message: tc.message},
			}
			ignore := protocmp.IgnoreFields(&evaluationv1.Evaluation{}, "timings")
			if diff := cmp.Diff(want, resp.Report, protocmp.Transform(), ignore); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

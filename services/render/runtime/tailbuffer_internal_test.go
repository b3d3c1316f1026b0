// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"google.golang.org/protobuf/testing/protocmp"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// With AsProcess, Evaluate and EvaluateList report output, environment and failures like those of a process.
func TestAsProcess(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("x", maxStderr)
	for name, tc := range map[string]struct {
		process func(p function.Program) (bool, error)
		want    *evaluationv1.Evaluation
	}{
		"prints": {func(p function.Program) (bool, error) {
			_, err := fmt.Fprintln(p.Stderr, p.Environ)
			return true, err
		}, &evaluationv1.Evaluation{Stderr: []byte("[A=b]\n")}},
		"prints much": {func(p function.Program) (bool, error) {
			for range 5 {
				_, _ = io.WriteString(p.Stderr, "a"+filler)
			}
			return true, nil
		}, &evaluationv1.Evaluation{Stderr: []byte(filler), StderrDroppedBytes: 4*maxStderr + 5}},
		"fails": {func(p function.Program) (bool, error) {
			_, err := io.WriteString(p.Stderr, "hello\n")
			return false, err
		}, failure("hello\nfailed to evaluate function: error: function failure")},
		"has an error": {func(function.Program) (bool, error) { return false, io.ErrUnexpectedEOF }, failure("failed to evaluate function: unexpected EOF")},
		"panics":       {func(function.Program) (bool, error) { panic("no") }, failure("failed to evaluate function: KRM function panicked with: no")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := function.Function{Name: "f", Version: "v1.2.3", Summary: "f", Process: func(ctx context.Context, _ *fn.ResourceList) (bool, error) {
				return tc.process(function.ProgramOf(ctx))
			}}
			b := Builtin{Functions: function.NewSet(f), Origin: "(ours)", AsProcess: true, Environ: []string{"A=b"}}
			tc.want.Image, tc.want.Evaluator, tc.want.Implementation = "f", evaluationv1.Evaluator_EVALUATOR_BUILTIN, "f v1.2.3 (ours)"
			response, err := b.Evaluate(t.Context(), evaluation.Request{Image: "f"})
			if err != nil {
				t.Fatal(err)
			}
			report, err := b.EvaluateList(t.Context(), "f", &fn.ResourceList{})
			if err != nil {
				t.Fatal(err)
			}
			for way, got := range map[string]*evaluationv1.Evaluation{"bytes": response.Report, "list": report} {
				if diff := cmp.Diff(tc.want, got, protocmp.Transform(), protocmp.IgnoreFields(got, "timings")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", way, diff)
				}
			}
		})
	}
}

func failure(stderr string) *evaluationv1.Evaluation {
	return &evaluationv1.Evaluation{Stderr: []byte(stderr), ExitCode: 1, Failure: &evaluationv1.Failure{
		Reason: evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, Message: "exit status 1",
	}}
}

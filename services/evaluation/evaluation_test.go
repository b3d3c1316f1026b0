// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package evaluation

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answer returns an evaluator whose response contains its name.
func answer(name string, err error) Evaluator {
	return Func(func(context.Context, Request) (Response, error) {
		return Response{Report: &evaluationv1.Evaluation{Implementation: name}}, err
	})
}

func TestChain(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	notFound := &NotFoundError{Image: "inner"}
	failing := Func(func(context.Context, Request) (Response, error) {
		return Failed(&evaluationv1.Evaluation{Implementation: "failing"}, evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, "x"), nil
	})
	for name, tc := range map[string]struct {
		chain []Evaluator
		want  string
		err   error
	}{
		"first evaluator that knows the function": {chain: []Evaluator{answer("", notFound), answer("a", nil), answer("b", nil)}, want: "a"},
		"failure ends the chain":                  {chain: []Evaluator{failing, answer("b", nil)}, want: "failing"},
		"another error ends the chain":            {chain: []Evaluator{answer("a", boom), answer("b", nil)}, want: "a", err: boom},
		"no evaluator knows the function":         {chain: []Evaluator{answer("", notFound)}, err: &NotFoundError{Image: "asked"}},
		"empty":                                   {err: &NotFoundError{Image: "asked"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, err := Chain(tc.chain...).Evaluate(t.Context(), Request{Image: "asked"})
			if got := resp.Report.GetImplementation(); got != tc.want {
				t.Errorf("Implementation = %q, want %q", got, tc.want)
			}
			if (err == nil) != (tc.err == nil) || (err != nil && err.Error() != tc.err.Error()) {
				t.Errorf("Evaluate() = %v, want %v", err, tc.err)
			}
		})
	}
}

func TestResultsText(t *testing.T) {
	t.Parallel()
	got := ResultsText([]*evaluationv1.Result{
		{
			Message: "bad thing", Severity: "error", Field: &evaluationv1.Field{Path: "spec.x"},
			ResourceRef: &evaluationv1.ResourceRef{ApiVersion: "v1", Kind: "Pod", Namespace: "web", Name: "front"},
		},
		{Message: "plain"},
	})
	if want := "[error] v1/Pod/web/front spec.x: bad thing\n\n[info]: plain"; got != want {
		t.Errorf("ResultsText() = %q, want %q", got, want)
	}
}

// The log line contains the report's warning.

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/internal/functiontest"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/render/runtime"
)

// preparing is an evaluator that records the images it is asked to prepare.
type preparing struct {
	evaluation.Evaluator
	asked *[]string
	err   error
}

func (p preparing) Prepare(_ context.Context, images []string) ([]*evaluatorv1.PreparedFunction, error) {
	*p.asked = append(*p.asked, images...)
	return nil, p.err
}

func TestMultiPreparesEachImageOnce(t *testing.T) {
	t.Parallel()
	var asked []string
	last := preparing{evaluation.Chain(), &asked, errors.New("down")}
	multi := runtime.Multi{runtime.Builtin{Functions: functiontest.Functions()}, evaluation.Chain(), last}
	got, err := multi.Prepare(t.Context(), []string{"set-labels:v0.2", "r.io/own:v1"})
	if err == nil || len(got) != 1 || got[0].GetState() != evaluatorv1.PrepareState_PREPARE_STATE_READY {
		t.Errorf("Prepare() = %v, %v", got, err)
	}
	if diff := cmp.Diff([]string{"r.io/own:v1"}, asked); diff != "" {
		t.Errorf("images passed to the last runtime (-want +got):\n%s", diff)
	}
}

func TestMultiTriesRuntimesInOrder(t *testing.T) {
	t.Parallel()
	multi := runtime.Multi{evaluation.Chain(), runtime.Builtin{Functions: functiontest.Functions()}}
	resp, err := multi.Evaluate(t.Context(), evaluation.Request{
		Image: "set-labels", ResourceList: []byte("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}\n"),
	})
	if err != nil || resp.Report.GetFailure() != nil {
		t.Errorf("Evaluate() = %v, %v", resp.Report, err)
	}
	if _, err := multi.Evaluate(t.Context(), evaluation.Request{Image: "unknown"}); !errors.As(err, new(*evaluation.NotFoundError)) {
		t.Errorf("Evaluate(unknown) = %v, want a NotFoundError", err)
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"cmp"
	"context"
	"slices"

	"github.com/krmfn/krmfn/function-runner/internal/exec"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
)

// functions describes and prepares the functions of the evaluators.
type functions struct {
	exec *exec.Evaluator
	// pods is nil without a pod evaluator.
	pods Pods
}

// Prepare implements service.Functions. It returns nil if no evaluator has the image. An executable is always ready, and gets a standby
// process.
func (f *functions) Prepare(ctx context.Context, image string) *evaluatorv1.PreparedFunction {
	found, ref, ok := f.exec.Find(image)
	switch {
	case !ok && f.pods != nil:
		return f.pods.Prepare(ctx, image)
	case !ok:
		return nil
	}
	f.exec.Prepare(found)
	return &evaluatorv1.PreparedFunction{
		ResolvedImage:  ref,
		State:          evaluatorv1.PrepareState_PREPARE_STATE_READY,
		Evaluator:      evaluationv1.Evaluator_EVALUATOR_EXEC,
		Implementation: found.Implementation,
	}
}

// List returns the functions with executables and the functions with pods, sorted by name.
func (f *functions) List() []*evaluatorv1.Function {
	known := f.exec.Functions()
	list := make([]*evaluatorv1.Function, 0, len(known))
	for _, fn := range known {
		list = append(list, &evaluatorv1.Function{
			Name: fn.Name, Evaluator: evaluationv1.Evaluator_EVALUATOR_EXEC, Implementation: fn.Implementation,
			Images: slices.Sorted(slices.Values(fn.Images)), AnyTag: fn.AnyTag,
		})
	}
	if f.pods != nil {
		list = append(list, f.pods.List()...)
		slices.SortStableFunc(list, func(a, b *evaluatorv1.Function) int { return cmp.Compare(a.GetName(), b.GetName()) })
	}
	return list
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"errors"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// Multi tries runtimes in order, like evaluation.Chain: only for a NotFoundError does it try the next one. It also forwards
// Prepare and EvaluateList.
type Multi []evaluation.Evaluator

// Evaluate returns the response of the first runtime that finds the function.
func (m Multi) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	return evaluation.Chain(m...).Evaluate(ctx, req)
}

type preparer interface {
	Prepare(ctx context.Context, images []string) ([]*evaluatorv1.PreparedFunction, error)
}

// Prepare calls the runtimes that can prepare images, each with the images that the previous ones did not find. It returns an
// entry for each image that was found. An error of one runtime does not stop the others; the returned error joins all errors.
func (m Multi) Prepare(ctx context.Context, images []string) ([]*evaluatorv1.PreparedFunction, error) {
	var known []*evaluatorv1.PreparedFunction
	var errs []error
	for _, e := range m {
		p, ok := e.(preparer)
		if !ok || len(images) == 0 {
			continue
		}
		functions, err := p.Prepare(ctx, images)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		images = nil
		for _, f := range functions {
			if f.GetState() == evaluatorv1.PrepareState_PREPARE_STATE_NOT_FOUND {
				images = append(images, f.GetImage())
				continue
			}
			known = append(known, f)
		}
	}
	return known, errors.Join(errs...)
}

// Prepare reports which images are built-in functions. These are always ready.
func (b Builtin) Prepare(_ context.Context, images []string) ([]*evaluatorv1.PreparedFunction, error) {
	list := make([]*evaluatorv1.PreparedFunction, 0, len(images))
	for _, ref := range images {
		p := &evaluatorv1.PreparedFunction{Image: ref, ResolvedImage: ref}
		f, err := b.Lookup(ref)
		if err != nil {
			p.State, p.Message = evaluatorv1.PrepareState_PREPARE_STATE_NOT_FOUND, err.Error()
		} else {
			p.State = evaluatorv1.PrepareState_PREPARE_STATE_READY
			p.Evaluator = evaluationv1.Evaluator_EVALUATOR_BUILTIN
			p.Implementation = f.Implementation()
		}
		list = append(list, p)
	}
	return list, nil
}

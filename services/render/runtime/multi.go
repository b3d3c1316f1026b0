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

// Multi asks runtimes in order, as evaluation.Chain does: only a function that is not found moves on. It passes on what
// else runtimes can do.
type Multi []evaluation.Evaluator

// Evaluate returns the answer of the first runtime that knows the function.
func (m Multi) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	return evaluation.Chain(m...).Evaluate(ctx, req)
}

type preparer interface {
	Prepare(ctx context.Context, images []string) ([]*evaluatorv1.PreparedFunction, error)
}

// Prepare asks those runtimes that can prepare images, each for what the ones before it do not know. There is an answer
// for each image that is known; the error joins those of the runtimes, and the others are asked all the same.
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

// Prepare tells which images are those of curated functions. They need no preparation.
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

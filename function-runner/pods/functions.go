// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Prepare has a pod made for an image, where there is none, and does not wait for it.
func (p *Pods) Prepare(ctx context.Context, name string) *evaluatorv1.PreparedFunction {
	return p.prepared.Prepare(ctx, name)
}

// List lists the functions that have pods.
func (p *Pods) List() []*evaluatorv1.Function {
	references := p.manager.References()
	list := make([]*evaluatorv1.Function, 0, len(references))
	for _, ref := range references {
		list = append(list, &evaluatorv1.Function{
			Name: reference.BaseName(ref), Evaluator: evaluationv1.Evaluator_EVALUATOR_POD, Images: []string{ref},
		})
	}
	return list
}

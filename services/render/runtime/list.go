// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"errors"
	"time"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/render/parallel"
	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// EvaluateList runs a function on a list in memory, in place. Report and error are as those of Evaluate, and the
// items end in the order in which the function prints them. No node is at two places of the list then.
func (b Builtin) EvaluateList(ctx context.Context, image string, list *fn.ResourceList) (*evaluationv1.Evaluation, error) {
	f, err := b.lookup(image)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	err = f.Apply(ctx, list)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	report := newReport(image, f, begin)
	var resultsErr error
	if !errors.As(err, new(*function.PanicError)) {
		report.Results, resultsErr = resultsOf(list)
	}
	if failure := failed(report, err, resultsErr); failure.Report != nil {
		return failure.Report, nil
	}
	if !f.Unshared {
		unshare(list.Items)
	}
	function.SortItems(list.Items)
	return report, nil
}

// unshare puts copies in the place of items, in which each node is at one place.
func unshare(items fn.KubeObjects) {
	_ = parallel.Each(len(items), func(i int) error {
		items[i] = fn.MoveToKubeObject(yaml.NewRNode(yamlnode.Copy(items[i].MoveToResourceNode().YNode())))
		return nil
	})
}

type listEvaluator interface {
	EvaluateList(ctx context.Context, image string, list *fn.ResourceList) (*evaluationv1.Evaluation, error)
}

// EvaluateList asks the runtimes up to the first that cannot evaluate lists in memory: who comes after that one must not
// be asked before it.
func (m Multi) EvaluateList(ctx context.Context, image string, list *fn.ResourceList) (*evaluationv1.Evaluation, error) {
	for _, e := range m {
		l, ok := e.(listEvaluator)
		if !ok {
			break
		}
		report, err := l.EvaluateList(ctx, image, list)
		if !errors.As(err, new(*evaluation.NotFoundError)) {
			return report, err
		}
	}
	return nil, &evaluation.NotFoundError{Image: image}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"google.golang.org/protobuf/types/known/durationpb"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/functions"
	"github.com/krmfn/krmfn/services/render/parallel"
	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// EvaluateList runs a curated function on a list in memory, in place. Report and error are as those of Evaluate, and the
// items end in the order in which the function prints them. No node is at two places of the list then.
func (b Builtin) EvaluateList(ctx context.Context, image string, list *fn.ResourceList) (*evaluationv1.Evaluation, error) {
	f, err := b.lookup(image)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	panicked, err := processList(ctx, f, list)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	report := &evaluationv1.Evaluation{
		Image:          image,
		Evaluator:      evaluationv1.Evaluator_EVALUATOR_BUILTIN,
		Implementation: f.Name + " " + f.Version,
		Timings:        &evaluationv1.Timings{Execute: durationpb.New(time.Since(begin))},
	}
	if panicked {
		return failed(report, nil, err, true).Report, nil
	}
	results, printErr := resultsOf(list)
	if err != nil {
		report.Results = results
		return failed(report, nil, err, false).Report, nil
	}
	if report.Results = results; printErr != nil {
		report.ExitCode = 1
		return evaluation.Failed(report, evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_INVALID, printErr.Error()).Report, nil
	}
	if !f.Unshared {
		unshare(list.Items)
	}
	sortItems(list.Items)
	return report, nil
}

// errFailed is what a function that fails by its results alone is said to have failed with; the text is the SDK's.
var errFailed = errors.New("error: function failure")

func processList(ctx context.Context, f functions.Function, list *fn.ResourceList) (panicked bool, err error) {
	defer func() {
		if value := recover(); value != nil {
			panicked, err = true, fmt.Errorf("KRM function panicked with: %v", value)
		}
	}()
	ok, err := f.Process(ctx, list)
	if err == nil && !ok {
		err = errFailed
	}
	return false, err
}

// unshare puts copies in the place of items, in which each node is at one place.
func unshare(items fn.KubeObjects) {
	_ = parallel.Each(len(items), func(i int) error {
		items[i] = fn.MoveToKubeObject(yaml.NewRNode(yamlnode.Copy(items[i].MoveToResourceNode().YNode())))
		return nil
	})
}

// sortItems brings items into the order of the SDK's output: by apiVersion, kind, namespace and name.
func sortItems(items fn.KubeObjects) {
	keys := make(map[*fn.KubeObject]string, len(items))
	for _, item := range items {
		keys[item] = strings.Join([]string{item.GetAPIVersion(), item.GetKind(), item.GetNamespace(), item.GetName()}, " ")
	}
	slices.SortStableFunc(items, func(a, b *fn.KubeObject) int { return strings.Compare(keys[a], keys[b]) })
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

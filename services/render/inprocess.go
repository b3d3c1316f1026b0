// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/render/parallel"
	"github.com/krmfn/krmfn/services/render/renderstatus"
	"github.com/krmfn/krmfn/services/render/resource"
	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// ListEvaluator is an evaluator that can evaluate functions on a list in memory, in place, so that nothing is printed and
// parsed between functions. The error is an *evaluation.NotFoundError where the function is not one of those: it is then
// evaluated in the usual way. Otherwise report and error are as those of evaluation.Evaluator, and the items are in the
// order in which the function would print them. No node is in two of them, or at two places of one: each is to be changed
// for itself.
type ListEvaluator interface {
	EvaluateList(ctx context.Context, image string, list *fn.ResourceList) (*evaluationv1.Evaluation, error)
}

// callInProcess evaluates a function on copies of the resources, which takes a fraction of the time that callWithBytes needs
// to print and parse them. done is false where that is not possible: the evaluator is not in this process, or printing would
// change the resources. TestInProcessIsAsOverBytes in functions/internal/rendering holds the two equal.
func (p *pipeline) callInProcess(ctx context.Context, s *step, in *input) (output []*yaml.RNode, report *evaluationv1.Evaluation, done bool, err error) {
	evaluator, ok := s.evaluator.(ListEvaluator)
	if !ok {
		return nil, nil, false, nil
	}
	list, err := in.list()
	if errors.Is(err, errComplicated) {
		return nil, nil, false, nil
	}
	if err != nil {
		return nil, nil, true, fmt.Errorf("write the input of function %q: %w", s.record.Title(), err)
	}
	begin := time.Now()
	report, err = evaluator.EvaluateList(ctx, s.record.Title(), list)
	if errors.As(err, new(*evaluation.NotFoundError)) {
		return nil, nil, false, nil
	}
	s.record.Duration = renderstatus.Duration(time.Since(begin))
	if err != nil {
		return nil, nil, true, fmt.Errorf("func eval %q failed: %w", s.record.Title(), err)
	}
	if output, err = resources(list.Items); err != nil {
		return nil, nil, false, nil //nolint:nilerr // It is to be printed and parsed.
	}
	s.record.SetReport(report)
	return output, report, true, nil
}

// resources returns the nodes of items; nil where there are none.
func resources(items fn.KubeObjects) ([]*yaml.RNode, error) {
	if len(items) == 0 {
		return nil, nil
	}
	nodes := make([]*yaml.RNode, len(items))
	err := parallel.Each(len(items), func(i int) error {
		nodes[i] = items[i].MoveToResourceNode()
		if complicated(nodes[i]) {
			return errComplicated
		}
		return nil
	})
	return nodes, err
}

// list returns the ResourceList with copies of the resources, which carry ids as in encode. It is errComplicated where
// printing and parsing would not leave all of it as it is.
func (in *input) list() (*fn.ResourceList, error) {
	list := &fn.ResourceList{Items: make(fn.KubeObjects, len(in.selected)), FunctionConfig: fn.NewEmptyKubeObject()}
	if in.config != nil {
		if complicated(in.config) {
			return nil, errComplicated
		}
		config, err := in.ownConfig()
		if err != nil {
			return nil, err
		}
		list.FunctionConfig = fn.MoveToKubeObject(config)
	}
	return list, parallel.Each(len(in.selected), func(i int) error {
		own := copyPlain(in.selected[i])
		if own == nil {
			return errComplicated
		}
		if err := resource.SetAnnotations(own, in.ids(i)...); err != nil {
			return err
		}
		list.Items[i] = fn.MoveToKubeObject(own)
		return nil
	})
}

// errComplicated is no error of the package: it tells that a list is to be printed and parsed.
var errComplicated = errors.New("complicated")

// complicated tells whether a resource has what printing and parsing it among others changes, or what a copy would share.
func complicated(r *yaml.RNode) bool {
	n := r.YNode()
	return complicatedTop(n) || yamlnode.Contains(n, complicatedNode)
}

// copyPlain returns a copy of a resource; nil where it is complicated.
func copyPlain(r *yaml.RNode) *yaml.RNode {
	n := r.YNode()
	if complicatedTop(n) {
		return nil
	}
	own := yamlnode.CopyUnless(n, complicatedNode)
	if own == nil {
		return nil
	}
	return yaml.NewRNode(own)
}

func complicatedTop(n *yaml.Node) bool {
	return n.Kind != yaml.MappingNode || n.HeadComment != "" || n.LineComment != ""
}

func complicatedNode(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || n.Anchor != "" || n.FootComment != "" || n.Style&(yaml.FoldedStyle|yaml.TaggedStyle) != 0 ||
		n.Style&yaml.FlowStyle != 0 && yamlnode.Contains(n, quotedInFlow)
}

// quotedInFlow tells whether a scalar in flow style may get quotes when it is printed, which functions can see.
func quotedInFlow(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style == 0 && (n.Value == "" || strings.ContainsAny(n.Value, ",?[]{}:"))
}

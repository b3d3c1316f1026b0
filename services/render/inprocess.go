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
// order in which the function would print them; nil where it would print neither items nor a functionConfig. No node is in two of them, or at two places of one: each is to be changed
// for itself.
type ListEvaluator interface {
	EvaluateList(ctx context.Context, image string, list *fn.ResourceList) (*evaluationv1.Evaluation, error)
}

// callInProcess evaluates a function on the nodes of the resources, which are parked then. It takes a fraction of the time that
// callWithBytes needs to print and parse them. The error is errPrint where that is not possible: the evaluator is not in this process, or
// printing would change the resources. TestInProcessIsAsOverBytes in functions/internal/rendering holds the two equal.
func (p *pipeline) callInProcess(ctx context.Context, s *step, in *input) ([]*yaml.RNode, *evaluationv1.Evaluation, error) {
	evaluator, ok := s.evaluator.(ListEvaluator)
	if !ok {
		return nil, nil, errPrint
	}
	list, err := in.list()
	if errors.Is(err, errPrint) {
		return nil, nil, errPrint
	}
	if err != nil {
		return nil, nil, fmt.Errorf("write the input of function %q: %w", s.record.Title(), err)
	}
	begin := time.Now()
	report, err := evaluator.EvaluateList(ctx, s.record.Title(), list)
	if errors.As(err, new(*evaluation.NotFoundError)) {
		return nil, nil, errPrint
	}
	s.record.Duration = renderstatus.Duration(time.Since(begin))
	if err != nil {
		return nil, nil, fmt.Errorf("func eval %q failed: %w", s.record.Title(), err)
	}
	s.record.SetReport(report)
	in.unprinted = true
	return resources(list.Items), report, nil
}

// resources returns the nodes of items; nil for nil.
func resources(items fn.KubeObjects) []*yaml.RNode {
	if items == nil {
		return nil
	}
	nodes := make([]*yaml.RNode, len(items))
	for i, item := range items {
		nodes[i] = item.MoveToResourceNode()
	}
	return nodes
}

// list returns the ResourceList, in which resources carry ids as in encode. The error is errPrint where printing and parsing would not
// leave all of it as it is.
func (in *input) list() (*fn.ResourceList, error) {
	list := &fn.ResourceList{Items: make(fn.KubeObjects, len(in.selected)), FunctionConfig: fn.NewEmptyKubeObject()}
	if in.config != nil {
		if complicated(in.config) {
			return nil, errPrint
		}
		config, err := in.ownConfig()
		if err != nil {
			return nil, err
		}
		list.FunctionConfig = fn.MoveToKubeObject(config)
	}
	return list, parallel.Each(len(in.selected), func(i int) error {
		own, err := in.own(i)
		if err == nil {
			list.Items[i] = fn.MoveToKubeObject(own)
		}
		return err
	})
}

// own returns a resource for the function, with ids: its nodes, or a copy where it is not parked. The error is errPrint where it is
// complicated.
func (in *input) own(i int) (*yaml.RNode, error) {
	r := in.selected[i]
	n := r.YNode()
	switch {
	case !in.kept(r):
		if in.parked.take(i, func(packed *yamlnode.Packed) bool { return simple(packed, n) }) == nil {
			return nil, errPrint
		}
	case complicated(r):
		return nil, errPrint
	default:
		n = yamlnode.Copy(n)
	}
	own := yaml.NewRNode(n)
	return own, resource.SetAnnotations(own, in.ids(i)...)
}

// errPrint is no error of the package: it tells that a list is to be printed and parsed.
var errPrint = errors.New("to be printed and parsed")

// simple tells whether a resource is not complicated. To have packed it says so of most.
func simple(packed *yamlnode.Packed, n *yaml.Node) bool {
	plain := !packed.HasFootComments() && packed.Styles()&(yaml.FoldedStyle|yaml.TaggedStyle|yaml.FlowStyle) == 0
	return !complicatedTop(n) && (plain || !yamlnode.Contains(n, complicatedNode))
}

// complicated tells whether a resource has what printing and parsing it among others changes, or what a copy would share.
func complicated(r *yaml.RNode) bool {
	n := r.YNode()
	return complicatedTop(n) || yamlnode.Contains(n, complicatedNode)
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

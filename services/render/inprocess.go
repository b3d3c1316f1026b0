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

	"github.com/krmfn/krmfn/internal/parallel"
	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/internal/yamlnode"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// ListEvaluator is an evaluator that can evaluate some functions on a list in memory, in place, without printing and parsing
// between functions. If it returns a *evaluation.NotFoundError, the function is evaluated by Evaluate. Otherwise, report and
// error are as for evaluation.Evaluator. Items end up in the order in which the function would print them, or are nil if it
// would print neither items nor a functionConfig. Every node of the result must occur in only one item and only once, because
// items are changed independently.
type ListEvaluator interface {
	EvaluateList(ctx context.Context, image string, list *fn.ResourceList) (*evaluationv1.Evaluation, error)
}

// callInProcess evaluates a function on the resources' nodes, which it parks. This takes a fraction of the time of
// callWithBytes, which prints and parses them. It returns errNeedsPrinting if the evaluator cannot evaluate the function in
// memory, or if printing would change the resources. TestInProcessIsAsOverBytes in functions/internal/rendering compares the
// two.
func (p *pipeline) callInProcess(ctx context.Context, s *step, in *input) ([]*yaml.RNode, *evaluationv1.Evaluation, error) {
	evaluator, ok := s.evaluator.(ListEvaluator)
	if !ok {
		return nil, nil, errNeedsPrinting
	}
	list, err := in.list()
	if errors.Is(err, errNeedsPrinting) {
		return nil, nil, errNeedsPrinting
	}
	if err != nil {
		return nil, nil, fmt.Errorf("write the input of function %q: %w", s.record.Title(), err)
	}
	begin := time.Now()
	report, err := evaluator.EvaluateList(ctx, s.record.Title(), list)
	if errors.As(err, new(*evaluation.NotFoundError)) {
		return nil, nil, errNeedsPrinting
	}
	s.record.Duration = renderstatus.Duration(time.Since(begin))
	if err != nil {
		return nil, nil, fmt.Errorf("func eval %q failed: %w", s.record.Title(), err)
	}
	s.record.SetReport(report)
	in.unprinted = true
	return resources(list.Items), report, nil
}

// resources returns the nodes of items; nil if items is nil.
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

// list returns the function's input in memory, with the same id annotations as encode. It returns errNeedsPrinting if printing and
// parsing would change the input.
func (in *input) list() (*fn.ResourceList, error) {
	list := &fn.ResourceList{Items: make(fn.KubeObjects, len(in.selected)), FunctionConfig: fn.NewEmptyKubeObject()}
	if in.config != nil {
		if complicated(in.config) {
			return nil, errNeedsPrinting
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

// own returns resource i with id annotations for the function. It takes the resource's nodes, or a copy if the resource must be
// kept. It returns errNeedsPrinting for a complicated resource.
func (in *input) own(i int) (*yaml.RNode, error) {
	r := in.selected[i]
	n := r.YNode()
	switch {
	case !in.kept(r):
		if in.parked.park(i, func(packed *yamlnode.Packed) bool { return simple(packed, n) }) == nil {
			return nil, errNeedsPrinting
		}
	case complicated(r):
		return nil, errNeedsPrinting
	default:
		n = yamlnode.Copy(n)
	}
	own := yaml.NewRNode(n)
	return own, resource.SetAnnotations(own, in.ids(i)...)
}

// errNeedsPrinting is used as a signal within this package: the list must be printed and parsed.
var errNeedsPrinting = errors.New("to be printed and parsed")

// simple is the opposite of complicated. For most resources, properties of the packed form suffice to tell.
func simple(packed *yamlnode.Packed, n *yaml.Node) bool {
	plain := !packed.HasFootComments() && packed.Styles()&(yaml.FoldedStyle|yaml.TaggedStyle|yaml.FlowStyle) == 0
	return !complicatedTop(n) && (plain || !yamlnode.Contains(n, complicatedNode))
}

// complicated reports whether printing and parsing would change a resource, or whether copies of it would share nodes.
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

// quotedInFlow reports whether the encoder may quote a scalar in flow style, which functions could notice.
func quotedInFlow(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style == 0 && (n.Value == "" || strings.ContainsAny(n.Value, ",?[]{}:"))
}

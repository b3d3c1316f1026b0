// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kptfile

import (
	"fmt"
	"slices"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
)

// SetRendered writes the result of a render to the status of a Kptfile. It removes the condition with the same type and appends
// condition. It replaces renderStatus, or removes it if nil. Everything else keeps its comments and order of fields.
func SetRendered(kf *yaml.RNode, condition kptfilev1.Condition, renderStatus *kptfilev1.RenderStatus) error {
	status, err := kf.Pipe(yaml.LookupCreate(yaml.MappingNode, "status"))
	if err != nil {
		return fmt.Errorf("status of the Kptfile: %w", err)
	}
	if n := status.YNode(); len(n.Content) == 0 {
		// An empty mapping is in flow style, where added fields would be hard to read.
		n.Style &^= yaml.FlowStyle
	}
	if err := setCondition(status, condition); err != nil {
		return err
	}
	if renderStatus == nil {
		return status.PipeE(yaml.Clear("renderStatus"))
	}
	list := printedResults
	if (kf.YNode().Style|status.YNode().Style)&yaml.FlowStyle != 0 || yamlnode.Contains(kf.YNode(), yamlnode.IsAlias) {
		list = resultNodes
	}
	steps, err := statusNode(renderStatus, list)
	if err != nil {
		return err
	}
	return status.PipeE(yaml.SetField("renderStatus", yaml.NewRNode(steps)))
}

func setCondition(status *yaml.RNode, condition kptfilev1.Condition) error {
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
	if before := status.Field("conditions"); before != nil && before.Value.YNode().Kind == yaml.SequenceNode {
		list = before.Value.YNode()
		// An empty list is in flow style, where added elements would be hard to read.
		list.Style &^= yaml.FlowStyle
		list.Content = slices.DeleteFunc(list.Content, func(c *yaml.Node) bool { return nameOf(c, "type") == condition.Type })
	}
	list.Content = append(list.Content, conditionNode(condition))
	// Put the conditions first, as kpt does.
	rest := status.YNode()
	if status.Field("conditions") == nil {
		rest.Content = append([]*yaml.Node{yamlnode.String("conditions", 0), list}, rest.Content...)
		return nil
	}
	return status.PipeE(yaml.SetField("conditions", yaml.NewRNode(list)))
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kptfile

import (
	"fmt"
	"slices"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// SetRendered writes the status of a render to a Kptfile: the condition takes the place of those of its type, behind the
// others; renderStatus takes the place of the one before, and nil removes it. All else stays as it is, with its comments
// and the order of its fields.
func SetRendered(kf *yaml.RNode, condition kptfilev1.Condition, renderStatus *kptfilev1.RenderStatus) error {
	status, err := kf.Pipe(yaml.LookupCreate(yaml.MappingNode, "status"))
	if err != nil {
		return fmt.Errorf("status of the Kptfile: %w", err)
	}
	if n := status.YNode(); len(n.Content) == 0 {
		// What is added to {} would be hard to read.
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
		// A list of nothing is in flow style, in which what is added would be hard to read.
		list.Style &^= yaml.FlowStyle
		list.Content = slices.DeleteFunc(list.Content, func(c *yaml.Node) bool { return nameOf(c, "type") == condition.Type })
	}
	list.Content = append(list.Content, conditionNode(condition))
	// The conditions come first, as kpt has it.
	rest := status.YNode()
	if status.Field("conditions") == nil {
		rest.Content = append([]*yaml.Node{yamlnode.String("conditions", 0), list}, rest.Content...)
		return nil
	}
	return status.PipeE(yaml.SetField("conditions", yaml.NewRNode(list)))
}

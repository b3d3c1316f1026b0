// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kptfile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/yamlnode"
	"github.com/krmfn/krmfn/services/render/yamlprint"
)

// SetRendered writes the status of a render to a Kptfile: the condition takes the place of those of its type, behind the
// others; renderStatus takes the place of the one before, and nil removes it. All else stays as it is, with its comments
// and the order of its fields.
func SetRendered(kf *yaml.RNode, condition kptfilev1.Condition, renderStatus *kptfilev1.RenderStatus) error {
	status, err := kf.Pipe(yaml.LookupCreate(yaml.MappingNode, "status"))
	if err != nil {
		return fmt.Errorf("status of the Kptfile: %w", err)
	}
	if err := setCondition(status, condition); err != nil {
		return err
	}
	if renderStatus == nil {
		return status.PipeE(yaml.Clear("renderStatus"))
	}
	encode := encodedStatus
	if (kf.YNode().Style|status.YNode().Style)&yaml.FlowStyle != 0 || yamlnode.Contains(kf.YNode(), yamlnode.IsAlias) {
		encode = func(s *kptfilev1.RenderStatus) (*yaml.Node, error) { return encoded(s) }
	}
	steps, err := encode(renderStatus)
	if err != nil {
		return err
	}
	return status.PipeE(yaml.SetField("renderStatus", yaml.NewRNode(steps)))
}

func setCondition(status *yaml.RNode, condition kptfilev1.Condition) error {
	conditions, err := encoded(condition)
	if err != nil {
		return err
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
	if before := status.Field("conditions"); before != nil && before.Value.YNode().Kind == yaml.SequenceNode {
		list = before.Value.YNode()
		// A list of nothing is in flow style, in which what is added would be hard to read.
		list.Style &^= yaml.FlowStyle
		list.Content = slices.DeleteFunc(list.Content, func(c *yaml.Node) bool { return nameOf(c, "type") == condition.Type })
	}
	list.Content = append(list.Content, conditions)
	// The conditions come first, as kpt has it.
	rest := status.YNode()
	if status.Field("conditions") == nil {
		rest.Content = append([]*yaml.Node{yamlnode.String("conditions", 0), list}, rest.Content...)
		return nil
	}
	return status.PipeE(yaml.SetField("conditions", yaml.NewRNode(list)))
}

// encoded returns a value as it is in a Kptfile. A node's own Encode cannot read back what it makes of text of several lines
// that begins with a space.
func encoded(value any) (*yaml.Node, error) {
	var text bytes.Buffer
	err := yaml.NewEncoder(&text).Encode(value)
	var n yaml.Node
	if err == nil {
		err = yaml.Unmarshal(text.Bytes(), &n)
	}
	if err != nil {
		return nil, fmt.Errorf("encode for the Kptfile: %w", err)
	}
	return n.Content[0], nil
}

// encodedStatus returns a status whose results are printed already. Functions may have a result for each field of each
// resource, and to print, read and print again all of them takes a quarter of a render. encoded does the same for a Kptfile
// that has flow style, where a list has no lines of its own, or aliases.
func encodedStatus(s *kptfilev1.RenderStatus) (*yaml.Node, error) {
	head := *s
	head.MutationSteps, head.ValidationSteps = withoutResults(s.MutationSteps), withoutResults(s.ValidationSteps)
	n, err := encoded(head)
	if err != nil {
		return nil, err
	}
	for field, steps := range map[string][]kptfilev1.PipelineStepResult{"mutationSteps": s.MutationSteps, "validationSteps": s.ValidationSteps} {
		for i := range steps {
			step := yamlnode.Field(n, field).Content[i]
			if err := errors.Join(addResults(step, "results", steps[i].Results), addResults(step, "errorResults", steps[i].ErrorResults)); err != nil {
				return nil, err
			}
		}
	}
	return n, nil
}

func withoutResults(steps []kptfilev1.PipelineStepResult) []kptfilev1.PipelineStepResult {
	steps = slices.Clone(steps)
	for i := range steps {
		steps[i].Results, steps[i].ErrorResults = nil, nil
	}
	return steps
}

// addResults adds a field, in the order in which a step has them.
func addResults(step *yaml.Node, field string, results []fnresultv1.ResultItem) error {
	if len(results) == 0 {
		return nil
	}
	items, err := yamlprint.Items(results, resultNode)
	if err != nil {
		return fmt.Errorf("encode results for the Kptfile: %w", err)
	}
	step.Content = append(step.Content, yamlnode.String(field, 0), items)
	return nil
}

// resultNode returns what a result is encoded as, with a node that is not plain for tags, which are seldom there.
func resultNode(r *fnresultv1.ResultItem) *yaml.Node {
	var n fields
	n.text("message", r.Message)
	n.text("severity", string(r.Severity))
	if ref := r.ResourceRef; ref != nil {
		var below fields
		below.text("apiVersion", ref.APIVersion)
		below.text("kind", ref.Kind)
		below.text("name", ref.Name)
		below.text("namespace", ref.Namespace)
		n.add("resourceRef", below.node())
	}
	if f := r.Field; f != nil {
		var below fields
		below.text("path", f.Path)
		below.text("currentValue", f.CurrentValue)
		below.text("proposedValue", f.ProposedValue)
		n.add("field", below.node())
	}
	if f := r.File; f != nil {
		var below fields
		below.text("path", f.Path)
		if f.Index != 0 {
			below.add("index", &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.Itoa(f.Index)})
		}
		n.add("file", below.node())
	}
	if len(r.Tags) > 0 {
		n.add("tags", &yaml.Node{})
	}
	return n.node()
}

// fields are those of a mapping. Empty texts are left out.
type fields []*yaml.Node

func (f *fields) add(key string, value *yaml.Node) {
	*f = append(*f, yamlnode.String(key, 0), value)
}

func (f *fields) text(key, text string) {
	if text != "" {
		f.add(key, yamlprint.Text(text))
	}
}

func (f *fields) node() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Content: *f} }

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kptfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/internal/yamlprint"
)

// Patch is a change to a Kptfile. Nil fields leave the corresponding part unchanged.
type Patch struct {
	// Labels and Annotations are fields of metadata.
	Labels, Annotations map[string]string
	// ReadinessGates is a field of info.
	ReadinessGates []kptfilev1.ReadinessGate
	// Conditions is a field of status.
	Conditions []kptfilev1.Condition
}

// IsZero reports whether the patch changes nothing.
func (p Patch) IsZero() bool {
	return p.Labels == nil && p.Annotations == nil && p.ReadinessGates == nil && p.Conditions == nil
}

// Merge adds the patch's values to a Kptfile. It overwrites existing values with the same key or type and removes nothing.
func (p Patch) Merge(kf *yaml.RNode) error { return p.apply(kf, false) }

// Replace sets the patch's fields in a Kptfile and removes all other values from these fields.
func (p Patch) Replace(kf *yaml.RNode) error { return p.apply(kf, true) }

func (p Patch) apply(kf *yaml.RNode, replace bool) error {
	for _, m := range []struct {
		field  string
		values map[string]string
	}{{yaml.LabelsField, p.Labels}, {yaml.AnnotationsField, p.Annotations}} {
		if m.values == nil || len(m.values) == 0 && !replace {
			continue
		}
		if err := setStrings(kf, m.field, m.values, replace); err != nil {
			return err
		}
	}
	return p.lists(kf, replace)
}

// setStrings changes a string map of metadata. Remaining entries keep their position and comments.
func setStrings(kf *yaml.RNode, field string, values map[string]string, replace bool) error {
	if replace && len(values) == 0 {
		return kf.PipeE(yaml.Lookup(yaml.MetadataField), yaml.Clear(field))
	}
	m, err := kf.Pipe(yaml.LookupCreate(yaml.MappingNode, yaml.MetadataField, field))
	if err != nil {
		return fmt.Errorf("metadata.%s of the Kptfile: %w", field, err)
	}
	keys, err := m.Fields()
	if err != nil {
		return fmt.Errorf("metadata.%s of the Kptfile: %w", field, err)
	}
	for _, key := range keys {
		if _, stays := values[key]; replace && !stays {
			if err := m.PipeE(yaml.Clear(key)); err != nil {
				return err
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value, before := yamlprint.Text(values[key]), m.Field(key)
		switch {
		case before == nil:
			m.YNode().Content = append(m.YNode().Content, yamlprint.Text(key), value)
		case before.Value.YNode().Value != values[key]:
			if err := m.PipeE(yaml.SetField(key, yaml.NewRNode(value))); err != nil {
				return fmt.Errorf("metadata.%s of the Kptfile: %w", field, err)
			}
		}
	}
	return nil
}

// lists changes the readiness gates and conditions, which are identified by type.
func (p Patch) lists(kf *yaml.RNode, replace bool) error {
	gates := make([]typed, 0, len(p.ReadinessGates))
	for _, g := range p.ReadinessGates {
		gates = append(gates, typed{g.ConditionType, fields{yamlnode.String("conditionType", 0), yamlprint.Text(g.ConditionType)}.node()})
	}
	if p.ReadinessGates != nil {
		if err := setTyped(kf, []string{"info", "readinessGates"}, "conditionType", gates, replace); err != nil {
			return err
		}
	}
	conditions := make([]typed, 0, len(p.Conditions))
	for _, c := range p.Conditions {
		conditions = append(conditions, typed{c.Type, conditionNode(c)})
	}
	if p.Conditions == nil {
		return nil
	}
	return setTyped(kf, []string{"status", "conditions"}, "type", conditions, replace)
}

// typed is a list element and the type that identifies it.
type typed struct {
	name  string
	value *yaml.Node
}

// setTyped changes a list whose elements are identified by the field key. Existing elements keep their position, and their
// comments if their value does not change. New elements are appended.
func setTyped(kf *yaml.RNode, path []string, key string, elements []typed, replace bool) error {
	if replace && len(elements) == 0 {
		return clearTyped(kf, path)
	}
	if len(elements) == 0 {
		return nil
	}
	list, err := kf.Pipe(yaml.LookupCreate(yaml.SequenceNode, path...))
	if err != nil {
		return fmt.Errorf("%s of the Kptfile: %w", strings.Join(path, "."), err)
	}
	n := list.YNode()
	if n.Kind != yaml.SequenceNode {
		return fmt.Errorf("%s of the Kptfile is not a list", strings.Join(path, "."))
	}
	// An empty list is in flow style, where added elements would be hard to read.
	if len(n.Content) == 0 {
		n.Style &^= yaml.FlowStyle
	}
	if replace {
		n.Content = slices.DeleteFunc(n.Content, func(e *yaml.Node) bool {
			return !slices.ContainsFunc(elements, func(t typed) bool { return t.name == nameOf(e, key) })
		})
	}
	for _, e := range elements {
		at := slices.IndexFunc(n.Content, func(before *yaml.Node) bool { return nameOf(before, key) == e.name })
		switch {
		case at < 0:
			n.Content = append(n.Content, e.value)
		case !sameValue(n.Content[at], e.value):
			n.Content[at] = e.value
		}
	}
	return nil
}

// clearTyped removes the list, and its parent if the parent is then empty.
func clearTyped(kf *yaml.RNode, path []string) error {
	parent, last := path[:len(path)-1], path[len(path)-1]
	if err := kf.PipeE(yaml.Lookup(parent...), yaml.Clear(last)); err != nil {
		return fmt.Errorf("%s of the Kptfile: %w", strings.Join(path, "."), err)
	}
	if rest := kf.Field(parent[0]); rest == nil || len(rest.Value.Content()) > 0 {
		return nil
	}
	return kf.PipeE(yaml.Clear(parent[0]))
}

func nameOf(n *yaml.Node, key string) string {
	if f := yaml.NewRNode(n).Field(key); f != nil {
		return f.Value.YNode().Value
	}
	return ""
}

// sameValue reports whether two nodes have the same value. It ignores comments and style.
func sameValue(a, b *yaml.Node) bool {
	aText, aErr := yaml.NewRNode(a).MarshalJSON()
	bText, bErr := yaml.NewRNode(b).MarshalJSON()
	return aErr == nil && bErr == nil && string(aText) == string(bText)
}

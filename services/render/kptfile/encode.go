// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kptfile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/internal/yamlprint"
)

// The functions below build the nodes of a status. yaml.Node.Encode is not used, because it parses the encoder's output, which
// fails for multi-line texts that begin with a space or tab, such as the stderr of a function.

func conditionNode(c kptfilev1.Condition) *yaml.Node {
	n := fields{yamlnode.String("type", 0), yamlprint.Text(c.Type), yamlnode.String("status", 0), yamlprint.Text(string(c.Status))}
	n.text("reason", c.Reason)
	n.text("message", c.Message)
	return n.node()
}

// statusNode returns the node of a render status. list converts the results of a step.
func statusNode(s *kptfilev1.RenderStatus, list func([]fnresultv1.ResultItem) (*yaml.Node, error)) (*yaml.Node, error) {
	var n fields
	err := errors.Join(n.steps("mutationSteps", s.MutationSteps, list), n.steps("validationSteps", s.ValidationSteps, list))
	n.text("errorSummary", s.ErrorSummary)
	return n.node(), err
}

func (f *fields) steps(key string, steps []kptfilev1.PipelineStepResult, list func([]fnresultv1.ResultItem) (*yaml.Node, error)) error {
	if len(steps) == 0 {
		return nil
	}
	nodes := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range steps {
		s, n := &steps[i], fields{}
		n.text("name", s.Name)
		n.text("image", s.Image)
		n.text("exec", s.ExecPath)
		n.text("executionError", s.ExecutionError)
		n.text("stderr", s.Stderr)
		n.number("exitCode", s.ExitCode)
		if err := errors.Join(n.results("results", s.Results, list), n.results("errorResults", s.ErrorResults, list)); err != nil {
			return err
		}
		nodes.Content = append(nodes.Content, n.node())
	}
	f.add(key, nodes)
	return nil
}

func (f *fields) results(key string, results []fnresultv1.ResultItem, list func([]fnresultv1.ResultItem) (*yaml.Node, error)) error {
	if len(results) == 0 {
		return nil
	}
	items, err := list(results)
	if err != nil {
		return fmt.Errorf("encode results for the Kptfile: %w", err)
	}
	f.add(key, items)
	return nil
}

// printedResults returns results as printed text. A function may report a result for each field of each resource; building
// nodes for all of them takes a quarter of a render's time. The printed form cannot be used in flow style or in a document with
// aliases.
func printedResults(results []fnresultv1.ResultItem) (*yaml.Node, error) {
	return yamlprint.Items(results, resultNode)
}

func resultNodes(results []fnresultv1.ResultItem) (*yaml.Node, error) {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range results {
		list.Content = append(list.Content, resultNode(&results[i]))
	}
	return list, nil
}

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
			below.number("index", f.Index)
		}
		n.add("file", below.node())
	}
	if len(r.Tags) > 0 {
		below := make(fields, 0, 2*len(r.Tags))
		for _, key := range slices.Sorted(maps.Keys(r.Tags)) {
			below = append(below, yamlprint.Text(key), yamlprint.Text(r.Tags[key]))
		}
		n.add("tags", below.node())
	}
	return n.node()
}

// fields is the content of a mapping node: keys and values.
type fields []*yaml.Node

func (f *fields) add(key string, value *yaml.Node) {
	*f = append(*f, yamlnode.String(key, 0), value)
}

func (f *fields) number(key string, n int) {
	f.add(key, &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.Itoa(n)})
}

func (f *fields) text(key, text string) {
	if text != "" {
		f.add(key, yamlprint.Text(text))
	}
}

func (f fields) node() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Content: f} }

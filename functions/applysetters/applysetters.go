// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package applysetters implements the function apply-setters.
package applysetters

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/kptdev/krm-functions-catalog/functions/go/apply-setters/applysetters"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function apply-setters.
var Function = function.Function{
	Name:      "apply-setters",
	Version:   "v0.2.2",
	Summary:   "sets the fields that kpt-set comments mark",
	Traits:    function.Traits{Worker: true, Deterministic: true},
	Config:    "ConfigMap, data: setter names and values; the value of a list is a YAML list in a string",
	Process:   applySetters,
	KeepsList: true,
	Unshared:  true,
}

// applySetters uses the catalog's implementation, with results in the SDK's format and corrected formatting of lists. It
// applies setters in the order of their names.
func applySetters(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	var filter applysetters.ApplySetters
	applysetters.Decode(yaml.NewRNode(function.NodeOf(rl.FunctionConfig)), &filter)
	slices.SortFunc(filter.Setters, func(a, b applysetters.Setter) int { return cmp.Compare(a.Name, b.Name) })

	budget := budget{setters: filter.Setters, left: maxText}
	for _, item := range rl.Items {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		root := function.NodeOf(item)
		if err := budget.take(root, 0); err != nil {
			rl.Results.Errorf("failed to apply setters: %s", err)
			return false, nil
		}
		_, err := filter.Filter([]*yaml.RNode{yaml.NewRNode(root)})
		tidyLists(root)
		if err != nil {
			rl.Results.Errorf("failed to apply setters: %s", err)
			return false, nil
		}
	}
	for _, set := range filter.Results {
		result := &fn.Result{
			Message: fmt.Sprintf("set field value to %q", set.Value),
			Field:   &fn.Field{Path: set.FieldPath},
		}
		if set.FilePath != "" {
			result.File = &fn.File{Path: set.FilePath}
		}
		rl.Results = append(rl.Results, result)
	}
	if len(filter.Results) == 0 {
		rl.Results = append(rl.Results, &fn.Result{Message: "no matches for input setter(s)"})
	}
	return true, nil
}

// tidyLists completes the lists that the catalog's implementation has replaced. An empty list must be in flow style, because
// YAML has no other form. A comment that was moved from the value to the key must be removed from the value, or else it would
// be printed after a later field, where the next run would take it for that field's setter.
func tidyLists(node *yaml.Node) {
	for i, value := range node.Content {
		tidyLists(value)
		if node.Kind != yaml.MappingNode || i%2 == 0 || value.Kind != yaml.SequenceNode || value.Style == yaml.FlowStyle {
			continue
		}
		key := node.Content[i-1]
		if len(value.Content) == 0 {
			value.Style, value.LineComment = yaml.FlowStyle, cmp.Or(key.LineComment, value.LineComment)
			key.LineComment = ""
		} else if value.LineComment == key.LineComment {
			value.LineComment = ""
		}
	}
}

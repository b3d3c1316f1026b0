// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package searchreplace implements the function search-replace.
package searchreplace

import (
	"context"
	"fmt"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/fields"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/functions/internal/origin"
	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function search-replace.
var Function = function.Function{
	Name:    "search-replace",
	Version: "v0.2.0",
	Summary: "finds fields by value or path, and replaces their values or comments",
	Traits:  function.Traits{Worker: true, Deterministic: true},
	Config: "ConfigMap, data.by-value, by-value-regex (RE2), by-path (as spec.**.list[*].name) and by-file-path (a glob): the " +
		"fields; put-value and put-comment: what becomes of them, ${1} being what a group of by-value-regex found. " +
		"A by-path without wildcards and put-value alone set the field in every resource",
	Process:   searchReplace,
	KeepsList: true,
}

// searchReplace finds fields in all resources, including local configuration, and reports one result per field.
func searchReplace(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	s, err := searchOf(rl.FunctionConfig)
	if err != nil {
		return searchFailed(rl, err)
	}
	var found fn.Results
	for _, item := range rl.Items {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		file := origin.File(item).Path
		if s.files != "" && !s.files.matches(file) {
			continue
		}
		results, err := s.do(function.NodeOf(item))
		if err != nil {
			return searchFailed(rl, err)
		}
		for _, result := range results {
			result.File = origin.Path(item)
		}
		found = append(found, results...)
	}
	if len(found) == 0 {
		found = fn.Results{{Message: "no matches"}}
	}
	rl.LogResult(found)
	return true, nil
}

func searchFailed(rl *fn.ResourceList, err error) (bool, error) {
	rl.Results.Errorf("failed to perform search-replace operation: %q", err.Error())
	return false, nil
}

func (s search) do(root *yaml.Node) (found fn.Results, err error) {
	note := func(path, value string) error {
		message := "Matched field value %q"
		if s.replaces() {
			message = "Mutated field value to %q"
		}
		found = append(found, &fn.Result{Message: fmt.Sprintf(message, value), Field: &fn.Field{Path: path}})
		return s.take(path, value)
	}
	err = nodes.EditUnshared(root, func(root *yaml.Node) (bool, error) {
		if s.absolute != nil {
			if err := note(s.path, s.put); err != nil {
				return false, err
			}
			return true, s.putAbsolute(root)
		}
		visitor := fields.Visitor{
			Scalar: func(scalar *yaml.Node, path string) error { return s.scalar(scalar, path, note) },
		}
		if s.comment != "" && s.pattern != nil && !s.byValue() {
			visitor.List = func(key, list *yaml.Node, path string) error { return s.list(key, list, path, note) }
		}
		err := visitor.Visit(root)
		changed := s.replaces() && len(found) > 0
		if changed {
			fields.BlockAround(root)
		}
		return changed, err
	})
	return found, err
}

// scalar replaces the text and comment of a scalar that matches. Both are derived from the old text.
func (s search) scalar(scalar *yaml.Node, path string, note func(path, value string) error) error {
	old := scalar.Value
	if !s.matchesScalar(old, path) {
		return nil
	}
	if s.comment != "" {
		comment, err := s.fill(s.comment, old)
		if err != nil {
			return err
		}
		scalar.LineComment = comment
		if err := s.take(comment); err != nil {
			return err
		}
	}
	if s.put != "" {
		text, err := s.fill(s.put, old)
		if err == nil {
			err = s.take(text)
		}
		if err != nil {
			return err
		}
		putText(scalar, text)
	}
	text, err := yaml.NewRNode(scalar).String()
	if err != nil {
		return err
	}
	return note(path, strings.TrimSpace(text))
}

func (s search) list(key, list *yaml.Node, path string, note func(path, value string) error) error {
	if !s.matchesField(path) {
		return nil
	}
	fields.BlockList(key, list, s.comment)
	shown := yamlnode.Copy(list)
	shown.Style, shown.LineComment = yaml.FlowStyle, ""
	text, err := yaml.NewRNode(shown).String()
	if err != nil {
		return err
	}
	return note(path+" # "+s.comment, strings.TrimSpace(text))
}

// putAbsolute sets one field. It creates the field and its parents if they are missing.
func (s search) putAbsolute(root *yaml.Node) error {
	last := len(s.absolute) - 1
	mapping, err := nodes.Mapping(root, s.absolute[:last]...)
	if err != nil {
		return err
	}
	value := yamlnode.Field(mapping, s.absolute[last])
	switch {
	case value == nil:
		value = &yaml.Node{Kind: yaml.ScalarNode}
		mapping.Content = append(mapping.Content, nodes.String(s.absolute[last]), value)
	case value.Kind != yaml.ScalarNode:
		*value = yaml.Node{Kind: yaml.ScalarNode, LineComment: value.LineComment}
	}
	putText(value, s.put)
	return nil
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package createsetters

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/fields"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/functions/internal/origin"
	"github.com/krmfn/krmfn/functions/internal/setters"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is create-setters.
var Function = function.Function{
	Name:    "create-setters",
	Version: "v0.1.0",
	Summary: "marks fields with kpt-set comments, for apply-setters",
	Config:  "ConfigMap, data: setter names and the values by which their fields are found; a YAML list in a string finds lists",
	Process: createSetters,
}

// createSetters puts a comment on every field that has a setter's value in it, in local configuration too. There is one
// result for each; it is an error that there is none.
func createSetters(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	wanted, err := newSettersOf(rl.FunctionConfig)
	if err != nil {
		return createSettersFailed(rl, err)
	}
	var added fn.Results
	for _, item := range rl.Items {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		results, err := wanted.mark(function.NodeOf(item))
		if err != nil {
			return createSettersFailed(rl, err)
		}
		for _, result := range results {
			result.File = origin.Path(item)
		}
		added = append(added, results...)
	}
	if len(added) == 0 {
		return createSettersFailed(rl, errors.New("no matches for the input list of setters"))
	}
	rl.LogResult(added)
	return true, nil
}

func createSettersFailed(rl *fn.ResourceList, err error) (bool, error) {
	rl.Results.Errorf("failed to create setters: %s", err)
	return false, nil
}

// mark puts the comments on the fields of one resource.
func (s newSetters) mark(root *yaml.Node) (added fn.Results, err error) {
	note := func(path, comment, value string) {
		added = append(added, &fn.Result{
			Message: fmt.Sprintf("Added line comment %q for field with value %q", comment, value),
			Field:   &fn.Field{Path: path},
		})
	}
	visitor := fields.Visitor{
		List: func(key, list *yaml.Node, path string) error {
			if name, texts, ok := s.listOf(list); ok {
				comment := setters.Comment + "${" + name + "}"
				fields.BlockList(key, list, comment)
				note(path, comment, fmt.Sprint(texts))
			} else if list.Style&yaml.FlowStyle != 0 && slices.ContainsFunc(list.Content, s.marks) {
				fields.BlockList(key, list, list.LineComment)
			}
			return nil
		},
		Scalar: func(scalar *yaml.Node, path string) error {
			if pattern, ok := s.patternOf(scalar.Value); ok {
				scalar.LineComment = setters.Comment + pattern
				note(path, scalar.LineComment, scalar.Value)
			}
			return nil
		},
	}
	err = nodes.EditUnshared(root, func(root *yaml.Node) (bool, error) {
		err := visitor.Visit(root)
		if len(added) > 0 {
			fields.BlockAround(root)
		}
		return len(added) > 0, err
	})
	return added, err
}

// marks reports whether the element of a list gets a comment.
func (s newSetters) marks(element *yaml.Node) bool {
	_, ok := s.patternOf(element.Value)
	return ok && element.Kind == yaml.ScalarNode
}

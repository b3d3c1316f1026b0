// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package createsetters implements the function create-setters.
package createsetters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/fields"
	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/functions/internal/origin"
	"github.com/krmfn/krmfn/functions/internal/setters"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function create-setters.
var Function = function.Function{
	Name:      "create-setters",
	Version:   "v0.1.0",
	Summary:   "adds kpt-set comments to fields, for apply-setters",
	Traits:    function.Traits{Worker: true, Deterministic: true},
	Config:    "ConfigMap, data: setter names and the values by which their fields are found; a YAML list in a string finds lists",
	Process:   createSetters,
	KeepsList: true,
}

// createSetters adds a comment to every field that contains a setter's value, including fields of local configuration. It
// reports one result per field, and an error if there is none.
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

// mark adds the comments to the fields of one resource.
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

func (s newSetters) marks(element *yaml.Node) bool {
	_, ok := s.patternOf(element.Value)
	return ok && element.Kind == yaml.ScalarNode
}

// newSetters are the setters in the functionConfig.
type newSetters struct {
	lists   []newListSetter
	scalars *strings.Replacer // replaces the value of each setter with the reference to it
}

type newListSetter struct {
	name  string
	texts []string // sorted
}

// newSettersOf parses the setters of a functionConfig. It ignores values that are maps.
func newSettersOf(config *fn.KubeObject) (newSetters, error) {
	data, err := functionconfig.Data(config)
	if err != nil {
		return newSetters{}, err
	}
	if len(data) == 0 {
		return newSetters{}, errors.New("config map cannot be empty")
	}
	var wanted newSetters
	var scalars []string // names
	for _, name := range slices.Sorted(maps.Keys(data)) {
		value, err := yaml.Parse(data[name])
		if err != nil || value.IsNil() {
			return newSetters{}, errors.New("parsing error")
		}
		switch value.YNode().Kind {
		case yaml.ScalarNode:
			if data[name] == "" {
				return newSetters{}, errors.New("parsing error")
			}
			scalars = append(scalars, name)
		case yaml.SequenceNode:
			if texts, ok := setters.SortedTexts(value.YNode()); ok {
				wanted.lists = append(wanted.lists, newListSetter{name, texts})
			}
		}
	}
	// The replacer uses the first match, so a value must come before its substrings.
	slices.SortStableFunc(scalars, func(a, b string) int { return cmp.Compare(len(data[b]), len(data[a])) })
	var pairs []string
	for _, name := range scalars {
		pairs = append(pairs, data[name], "${"+name+"}")
	}
	wanted.scalars = strings.NewReplacer(pairs...)
	return wanted, nil
}

// listOf returns the setter whose value equals a list.
func (s newSetters) listOf(list *yaml.Node) (name string, texts []string, ok bool) {
	texts, ok = setters.SortedTexts(list)
	if !ok {
		return "", nil, false
	}
	for _, setter := range s.lists {
		if slices.Equal(setter.texts, texts) {
			return setter.name, texts, true
		}
	}
	return "", nil, false
}

// patternOf returns the setter pattern for a text. ok is false if the text contains no setter's value. Multi-line texts have no
// pattern, because their line comment would not be parsed as theirs.
func (s newSetters) patternOf(text string) (string, bool) {
	pattern := s.scalars.Replace(text)
	return pattern, pattern != text && !strings.ContainsAny(pattern, "\n\r\u0085\u2028\u2029")
}

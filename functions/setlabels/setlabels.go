// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package setlabels implements the function set-labels.
package setlabels

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/internal/parallel"
	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function set-labels.
var Function = function.Function{
	Name:     "set-labels",
	Version:  "v0.2.0",
	Releases: []string{"v0.1.5", "v0.2.1", "v0.2.2", "v0.2.3", "v0.2.4", "v0.2.5"},
	Summary:  "sets labels on resources, their selectors and their pod templates",
	Traits:   function.Traits{Worker: true, Deterministic: true},
	Config: "v1 ConfigMap, data: the labels\n" +
		"fn.kpt.dev SetLabels (any version), labels: the labels",
	Process:  setLabels,
	Unshared: true,
}

// setLabels sets labels on every resource except local configuration, and wherever Kubernetes requires the same labels; see
// labelRules. The last result counts every path of a rule once per label, whether or not anything changed.
//
// Without a functionConfig, the function fails unless there is nothing to label.
func setLabels(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	labels, given, err := labelsOf(rl.FunctionConfig)
	if err != nil {
		rl.Results.ErrorE(err)
		return false, nil
	}
	if !given {
		rl.Results.Infof("`FunctionConfig` is not given")
	}
	items := rl.Items.WhereNot(fn.IsLocalConfig)
	switch {
	case len(items) == 0:
		rl.Results.Infof("no input resources")
		return true, nil
	case !given:
		return false, nil
	case len(labels) == 0:
		rl.Results.Warningf("no `labels` arguments are given in FunctionConfig")
		return true, nil
	}

	sorted, counts, errs := nodes.Entries(labels), make([]int, len(items)), make([]error, len(items))
	err = parallel.Each(len(items), func(i int) error {
		edit := labelEdit{item: items[i], root: function.NodeOf(items[i]), labels: sorted}
		errs[i] = edit.all()
		counts[i] = edit.count
		return ctx.Err()
	})
	if err != nil {
		return false, err
	}
	count, ok := 0, true
	for i := range items {
		if errs[i] != nil {
			rl.Results.ErrorE(errs[i])
			ok = false
		}
		count += counts[i]
	}
	rl.Results.Infof("set %d labels in total", count)
	return ok, nil
}

// labelsOf returns the labels in a functionConfig. given reports whether there is a functionConfig: if there is none, kpt
// passes an empty ConfigMap named function-input.
func labelsOf(config *fn.KubeObject) (labels map[string]string, given bool, err error) {
	if config.IsEmpty() {
		return nil, false, nil
	}
	switch kind := config.GroupKind(); {
	case kind.Group == "" && kind.Kind == "ConfigMap":
		labels, err := functionconfig.Data(config)
		return labels, err != nil || len(labels) > 0 || config.GetName() != "function-input", err
	case kind.Group == fn.KptFunctionGroup && kind.Kind == "SetLabels":
		var typed struct {
			Labels map[string]string `json:"labels,omitempty"`
		}
		if err := config.As(&typed); err != nil {
			return nil, true, functionconfig.WithoutTypes(err)
		}
		return typed.Labels, true, nil
	default:
		return nil, true, fmt.Errorf("unknown FunctionConfig `%v`, expect `SetLabels.%s` or `ConfigMap.v1`",
			kind, fn.KptFunctionGroup)
	}
}

type labelEdit struct {
	item   *fn.KubeObject
	root   *yaml.Node
	labels []nodes.Entry
	count  int // labels set or checked so far
}

// all applies all rules. It stops at the first value of a wrong type.
func (e *labelEdit) all() error {
	t := e.item.GroupVersionKind()
	for _, rule := range labelRules {
		if !rule.appliesTo(t) {
			continue
		}
		path := strings.Split(rule.path, ".")
		if rule.within != "" {
			within := strings.Split(rule.within, ".")
			if exists, err := e.exists(within); err != nil || !exists {
				if err != nil {
					return err
				}
				continue
			}
			path = append(within, path...)
		}
		if err := e.walk(e.root, path, "", rule.create); err != nil {
			return err
		}
	}
	return nil
}

func (e *labelEdit) exists(path []string) (bool, error) {
	node, at := e.root, ""
	for _, step := range path {
		at += "." + step
		value, err := e.child(node, step)
		if err != nil || yamlnode.IsNull(value) {
			return false, err
		}
		if value.Kind != yaml.MappingNode {
			return false, e.unmatched("map", at)
		}
		node = value
	}
	return true, nil
}

// walk follows a path from a mapping and sets labels at its end. at is the mapping's path, for errors.
func (e *labelEdit) walk(mapping *yaml.Node, path []string, at string, create bool) error {
	if len(path) == 0 {
		return e.set(mapping, at, create)
	}
	name, isList := strings.CutSuffix(path[0], "[]")
	at += "." + name
	value, err := e.child(mapping, name)
	switch {
	case err != nil:
		return err
	case isList:
		return e.walkList(value, path[1:], at, create)
	case yamlnode.IsNull(value) && slices.ContainsFunc(path, isListStep):
		return nil
	case yamlnode.IsNull(value) && !create:
		e.count += len(e.labels)
		return nil
	case yamlnode.IsNull(value):
		value = yamlnode.MakeMapping(mapping, nodes.String(name))
	case value.Kind != yaml.MappingNode:
		return e.unmatched("string", at+"."+strings.Join(append(path[1:], e.labels[0].Key.Value), "."))
	}
	return e.walk(value, path[1:], at, create)
}

func isListStep(step string) bool { return strings.HasSuffix(step, "[]") }

func (e *labelEdit) walkList(list *yaml.Node, path []string, at string, create bool) error {
	if yamlnode.IsNull(list) {
		return nil
	}
	if list.Kind != yaml.SequenceNode {
		return e.unmatched("list", at)
	}
	if slices.ContainsFunc(list.Content, yamlnode.IsAlias) {
		if err := nodes.ExpandAliases(e.root); err != nil {
			return fmt.Errorf("%s: %w", e.item.ShortString(), err)
		}
	}
	for i, element := range list.Content {
		if element.Kind != yaml.MappingNode {
			return e.unmatched("map", fmt.Sprintf("%s[%d]", at, i))
		}
		if err := e.walk(element, path, fmt.Sprintf("%s[%d]", at, i), create); err != nil {
			return err
		}
	}
	return nil
}

func (e *labelEdit) set(mapping *yaml.Node, at string, create bool) error {
	for _, label := range e.labels {
		key := label.Key.Value
		value, err := e.child(mapping, key)
		switch {
		case err != nil:
			return err
		case value != nil && (value.Kind != yaml.ScalarNode || value.Tag != yaml.NodeTagString):
			return e.unmatched("string", at+"."+key)
		case value != nil || create:
			if err := label.Set(e.root, mapping); err != nil {
				return err
			}
		}
		e.count++
	}
	return nil
}

// child returns the value of a field, not shared with other fields, or nil.
func (e *labelEdit) child(mapping *yaml.Node, name string) (*yaml.Node, error) {
	value, err := nodes.OwnField(e.root, mapping, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.item.ShortString(), err)
	}
	return value, nil
}

// unmatched returns the SDK's error for a value of the wrong type, which never contains the API version.
func (e *labelEdit) unmatched(expected, at string) error {
	return fmt.Errorf("Resource(apiVersion=, kind=%s) has unmatched field type %q in fieldpath %s",
		e.item.GetKind(), expected, at)
}

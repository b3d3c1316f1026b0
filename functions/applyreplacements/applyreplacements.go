// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package applyreplacements implements the function apply-replacements.
package applyreplacements

import (
	"context"
	"errors"
	"slices"

	"github.com/kptdev/krm-functions-catalog/functions/go/apply-replacements/replacements"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function apply-replacements.
var Function = function.Function{
	Name:     "apply-replacements",
	Version:  "v0.1.5",
	Releases: []string{"v0.1.1"},
	Summary:  "copies values from fields to other fields, as kustomize's replacements do",
	Traits:   function.Traits{Worker: true, Deterministic: true},
	Config:   "fn.kpt.dev/v1alpha1 ApplyReplacements, replacements: kustomize's, without path",
	Process:  applyReplacements,
}

// applyReplacements uses the catalog's implementation, which uses kustomize. On success it adds no results; on failure it
// leaves the items unchanged.
func applyReplacements(_ context.Context, rl *fn.ResourceList) (bool, error) {
	var config replacements.Replacements
	if err := config.Config(rl.FunctionConfig); err != nil {
		rl.LogResult(functionconfig.WithoutTypes(err))
		return false, nil
	}
	if err := checkReplacements(config.Replacements); err != nil {
		rl.LogResult(err)
		return false, nil
	}
	items, err := config.Transform(rl.Items)
	if err != nil {
		rl.LogResult(err)
		return false, nil
	}
	for _, item := range items {
		dropWrongTags(function.NodeOf(item))
	}
	rl.Items = items
	return true, nil
}

// checkReplacements returns an error for null list elements, on which kustomize would panic.
func checkReplacements(all []types.Replacement) error {
	for _, replacement := range all {
		for _, target := range replacement.Targets {
			if target == nil || slices.Contains(target.Reject, nil) {
				return errors.New("targets and reject lists of a replacement must not contain null")
			}
		}
	}
	return nil
}

// dropWrongTags removes the tag of a scalar to which a replacement gave a text of another type, as in "!!int http", because
// such a scalar cannot be parsed.
func dropWrongTags(node *yaml.Node) {
	for _, value := range node.Content {
		dropWrongTags(value)
	}
	if node.Kind != yaml.ScalarNode || node.Style&yaml.TaggedStyle == 0 {
		return
	}
	var decoded any
	if node.Decode(&decoded) != nil {
		node.Tag, node.Style = "", node.Style&^yaml.TaggedStyle
	}
}

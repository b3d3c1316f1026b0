// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package format implements the function format.
package format

import (
	"context"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/kio/filters"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function format.
var Function = function.Function{
	Name:      "format",
	Version:   "v0.1.1",
	Summary:   "orders the fields of resources as Kubernetes does, and quotes strings that YAML 1.1 would read as another type",
	Traits:    function.Traits{Worker: true, Deterministic: true},
	Config:    "none",
	Process:   format,
	KeepsList: true,
	Unshared:  true,
}

// format formats every item with kyaml's formatter. It first expands aliases, because after reordering fields, an alias could
// come before its anchor.
func format(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	return nodes.Each(ctx, rl, func(item *fn.KubeObject) error {
		return nodes.EditUnshared(function.NodeOf(item), func(root *yaml.Node) (bool, error) {
			_, err := filters.FormatFilter{UseSchema: true}.Filter([]*yaml.RNode{yaml.NewRNode(root)})
			return true, err
		})
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package removelocalconfigresources implements the function remove-local-config-resources.
package removelocalconfigresources

import (
	"context"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/functions/internal/origin"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function remove-local-config-resources.
var Function = function.Function{
	Name:      "remove-local-config-resources",
	Version:   "v0.1.0",
	Summary:   "removes resources that are local configuration",
	Traits:    function.Traits{Worker: true, Deterministic: true},
	Config:    "none",
	Process:   removeLocalConfig,
	KeepsList: true,
}

// removeLocalConfig removes the resources whose annotation is "true", and empty ones. It keeps resources with other values,
// although other functions treat those as local configuration.
func removeLocalConfig(_ context.Context, rl *fn.ResourceList) (bool, error) {
	var kept fn.KubeObjects
	var removed fn.Results
	for _, item := range rl.Items {
		switch root := function.NodeOf(item); {
		case len(root.Content) == 0:
		case strings.EqualFold(nodes.Annotation(root, "config.kubernetes.io/local-config"), "true"):
			removed = append(removed, origin.Named("Resource name: [%s]", item))
		default:
			kept = append(kept, item)
		}
	}
	rl.Items = kept
	if len(removed) == 0 {
		rl.Results.Warningf("Found no resources to prune with the local config annotation")
		return true, nil
	}
	rl.Results.Infof("Number of resources pruned: %d", len(removed))
	rl.LogResult(removed)
	return true, nil
}

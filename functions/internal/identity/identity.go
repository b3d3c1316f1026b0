// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package identity compares the identity of resources like kustomize.
package identity

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Of returns the identity of a resource, including whether its kind is cluster-scoped.
func Of(root *yaml.Node) resid.ResId {
	id := resid.FromRNode(yaml.NewRNode(root))
	id.Gvk = resid.NewGvk(id.Group, id.Version, id.Kind)
	return id
}

// Check returns an error for a resource without a name and for two resources with the same identity, like kustomize, on which
// the catalog's function is built.
func Check(items fn.KubeObjects) error {
	seen := map[resid.ResId]bool{}
	for _, item := range items {
		rn := yaml.NewRNode(function.NodeOf(item))
		id := resid.FromRNode(rn)
		// Skip the slow validation for resources that are obviously valid.
		if strings.TrimSpace(id.Kind) == "" || id.Name == "" {
			if _, err := rn.GetValidatedMetadata(); err != nil {
				return err
			}
		}
		key := id
		key.Namespace = id.EffectiveNamespace()
		if seen[key] {
			return fmt.Errorf("may not add resource with an already registered id: %s", formerID(id))
		}
		seen[key] = true
	}
	return nil
}

// formerID formats an identity like the kustomize version of the catalog's function.
func formerID(id resid.ResId) string {
	return strings.Join([]string{
		cmp.Or(id.Group, "~G") + "_" + cmp.Or(id.Version, "~V") + "_" + cmp.Or(id.Kind, "~K"),
		cmp.Or(id.Namespace, "~X"),
		cmp.Or(id.Name, "~N"),
	}, "|")
}

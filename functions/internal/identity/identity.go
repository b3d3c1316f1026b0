// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package identity tells resources from each other as kustomize does.
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

// Of is the identity of a resource, with whether resources of its kind are in no namespace.
func Of(root *yaml.Node) resid.ResId {
	id := resid.FromRNode(yaml.NewRNode(root))
	id.Gvk = resid.NewGvk(id.Group, id.Version, id.Kind)
	return id
}

// Check refuses resources without a name, and two with the same identity: kustomize, on which the catalog's
// function is built, does.
func Check(items fn.KubeObjects) error {
	seen := map[resid.ResId]bool{}
	for _, item := range items {
		rn := yaml.NewRNode(function.NodeOf(item))
		id := resid.FromRNode(rn)
		// What is plainly right is not looked at again, which would take longer than all the rest.
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

// formerID writes an identity as the kustomize of the catalog's function does.
func formerID(id resid.ResId) string {
	return strings.Join([]string{
		cmp.Or(id.Group, "~G") + "_" + cmp.Or(id.Version, "~V") + "_" + cmp.Or(id.Kind, "~K"),
		cmp.Or(id.Namespace, "~X"),
		cmp.Or(id.Name, "~N"),
	}, "|")
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package packagecontext generates package contexts: the ConfigMap kptfile.kpt.dev, by which functions learn in which
// package, and where, they run. It is what Porch calls the function builtins/gen-pkg-context.
package packagecontext

import (
	"fmt"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/resource"
)

const (
	// FileName is the file of the context, next to the package's Kptfile.
	FileName = "package-context.yaml"
	// ConfigMapName is the name of the ConfigMap in it.
	ConfigMapName = "kptfile.kpt.dev"
	// FunctionName is what messages call the generator.
	FunctionName = "builtins/gen-pkg-context"
)

// Context is where a package is.
type Context struct {
	// Path is the package's path in its repository, with slashes: the names of its parents and its own.
	Path string
	// Repository is the name of the repository, Namespace the namespace that it is registered in.
	Repository, Namespace string
	// Deployment tells whether packages of the repository are deployed. Only they have a context that is generated.
	Deployment bool
}

// Generator puts a Context into packages.
type Generator struct{ Context Context }

var _ kio.Filter = Generator{}

// Filter removes all package contexts, those of sub-packages too, and adds one next to the Kptfile of the root package.
// Where there is no such Kptfile, none is added. Resources are told apart by their path annotations.
func (g Generator) Filter(resources []*yaml.RNode) ([]*yaml.RNode, error) {
	kept := make([]*yaml.RNode, 0, len(resources)+1)
	var root *yaml.RNode
	for _, r := range resources {
		if isContext(r) {
			continue
		}
		if resource.Path(r) == kptfilev1.KptFileName && resource.Kind(r) == kptfilev1.KptFileGVK().Kind {
			root = r
		}
		kept = append(kept, r)
	}
	if root == nil {
		return kept, nil
	}
	name := resource.Name(root)
	if name == "" {
		return nil, fmt.Errorf("the Kptfile of the package has no metadata.name to put into %s", FileName)
	}
	added, err := g.Context.resource(name)
	if err != nil {
		return nil, err
	}
	return append(kept, added), nil
}

func isContext(r *yaml.RNode) bool {
	return resource.APIVersion(r) == "v1" && resource.Kind(r) == "ConfigMap" && resource.Name(r) == ConfigMapName
}

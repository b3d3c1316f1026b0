// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// ParseFile reads the resources of one file on its own, whatever its name. They are annotated with the path, and what else
// PrintFile needs to print them as they were.
func ParseFile(path string, content []byte) ([]*yaml.RNode, error) {
	resources, err := parse(content, path, "/")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return resources, nil
}

// PrintFile prints the resources of one file, in the order of their index annotations, those without one last. Annotations
// that say where a resource is are left out.
func PrintFile(resources []*yaml.RNode) ([]byte, error) { return encode(resources) }

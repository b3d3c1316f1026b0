// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/images/reference"
)

// ExecConfig returns the config file by which a function runner evaluates functions as executables that are named after
// them: each answers to its own tags under both prefixes of the catalog.
func ExecConfig(functions []function.Function) ([]byte, error) {
	type entry struct {
		Function string   `json:"function"`
		Images   []string `json:"images"`
	}
	entries := make([]entry, 0, len(functions))
	for _, f := range functions {
		e := entry{Function: f.Name}
		for _, prefix := range []string{reference.CatalogPrefix, reference.FormerCatalogPrefix} {
			for _, tag := range f.Tags {
				e.Images = append(e.Images, prefix+"/"+f.Name+":"+tag)
			}
		}
		entries = append(entries, e)
	}
	text, err := yaml.Marshal(map[string][]entry{"functions": entries})
	if err != nil {
		return nil, fmt.Errorf("write the config file of functions: %w", err)
	}
	return text, nil
}

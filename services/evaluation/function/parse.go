// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"bytes"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
)

// parseList parses a list like the SDK, and accepts "items: null" like kyaml's framework.
func parseList(in []byte) (*fn.ResourceList, error) {
	rl, err := fn.ParseResourceList(in)
	if err == nil {
		return rl, nil
	}
	var doc yaml.Node
	if yaml.Unmarshal(in, &doc) != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, err
	}
	root := doc.Content[0]
	if items := yamlnode.Field(root, "items"); items == nil || !yamlnode.IsNull(items) {
		return nil, err
	}
	yamlnode.Remove(root, "items")
	rest, printErr := yaml.Marshal(root)
	if printErr != nil {
		return nil, err
	}
	return fn.ParseResourceList(rest)
}

// apiVersionOf returns the apiVersion of a list, or "" if it has none.
func apiVersionOf(in []byte) string {
	var list struct {
		APIVersion string `yaml:"apiVersion"`
	}
	// Look for the line first, because parsing the whole list is slow. In a valid list, no other line begins like this.
	for line := range bytes.Lines(in) {
		if bytes.HasPrefix(line, []byte("apiVersion:")) && yaml.Unmarshal(line, &list) == nil && list.APIVersion != "" {
			return list.APIVersion
		}
	}
	if yaml.Unmarshal(in, &list) != nil {
		return ""
	}
	return list.APIVersion
}

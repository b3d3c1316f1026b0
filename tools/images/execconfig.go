// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// catalogs are the prefixes under which the catalog has published its functions.
var catalogs = []string{"ghcr.io/kptdev/krm-functions-catalog/", "gcr.io/kpt-fn/"}

// function is a curated function.
type function struct {
	name string
	tags []string // tags of the catalog's images whose behaviour it has
}

// execConfig writes the function runner's exec configuration: each function, and the image references that it answers to.
func execConfig(functions []function) (string, error) {
	type entry struct {
		Function string   `json:"function"`
		Images   []string `json:"images"`
	}
	entries := make([]entry, 0, len(functions))
	for _, f := range functions {
		images := make([]string, 0, len(catalogs)*len(f.tags))
		for _, catalog := range catalogs {
			for _, tag := range f.tags {
				images = append(images, catalog+f.name+":"+tag)
			}
		}
		entries = append(entries, entry{Function: f.name, Images: images})
	}
	data, err := yaml.Marshal(map[string][]entry{"functions": entries})
	if err != nil {
		return "", fmt.Errorf("exec configuration: %w", err)
	}
	return string(data), nil
}

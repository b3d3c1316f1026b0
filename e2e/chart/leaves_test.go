// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/e2e/install"
)

// valueSchema is a JSON schema of values, with the keywords that the chart's schema uses.
type valueSchema struct {
	Ref         string                  `json:"$ref"`
	Type        any                     `json:"type"`
	Enum        []any                   `json:"enum"`
	Pattern     string                  `json:"pattern"`
	Properties  map[string]*valueSchema `json:"properties"`
	Required    []string                `json:"required"`
	Additional  any                     `json:"additionalProperties"`
	Items       *valueSchema            `json:"items"`
	Definitions map[string]*valueSchema `json:"definitions"`
}

// valueLeaf is a value that users can set.
type valueLeaf struct {
	// path is the path of the value. "0" is the first element of a list.
	path []string
	// schema is the value's schema. definition is the name of a shared schema, or empty.
	schema     *valueSchema
	definition string
	// free reports whether the parent allows additional properties.
	free bool
}

func (l *valueLeaf) String() string { return strings.Join(l.path, ".") }

func readSchema(t *testing.T) *valueSchema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chartDir(t), "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	schema := new(valueSchema)
	if err := json.Unmarshal(text, schema); err != nil {
		t.Fatal(err)
	}
	return schema
}

// leaves returns all values without properties of their own, and the fields of list elements.
func leaves(t *testing.T) []*valueLeaf {
	t.Helper()
	root := readSchema(t)
	var all []*valueLeaf
	var walk func(s *valueSchema, path []string, free bool)
	walk = func(s *valueSchema, path []string, free bool) {
		leaf := &valueLeaf{path: slices.Clone(path), schema: s, free: free}
		if name, shared := strings.CutPrefix(s.Ref, "#/definitions/"); shared {
			leaf.schema, leaf.definition = root.Definitions[name], name
		}
		for _, name := range slices.Sorted(maps.Keys(leaf.schema.Properties)) {
			walk(leaf.schema.Properties[name], append(path, name), leaf.schema.Additional != false)
		}
		if len(leaf.schema.Properties) == 0 {
			all = append(all, leaf)
		}
		if items := leaf.schema.Items; items != nil && len(items.Properties) > 0 {
			walk(items, append(path, "0"), false)
		}
	}
	walk(root, nil, false)
	return all
}

// elements holds the required fields of list elements, keyed by the path or by the last part of the path of the list.
var elements = map[string]map[string]any{
	"functions": {"name": "a/b:v1"}, "tests.functions": {"image": "a/b:v1"}, "allow": {"prefix": "a"},
	"functionPods.overrides": {"images": []any{"a/b"}},
	"signatures":             {"keys": []any{map[string]any{"data": "a"}}}, "keys": {"data": "a"}, "keyless": {"issuer": "a", "subject": "b"}, "attestations": {"predicateType": "a"},
	"tolerations": {},
	"extraEnv":    {"name": "A"}, "extraVolumes": {"name": "a", "emptyDir": map[string]any{}}, "extraVolumeMounts": {"name": "a", "mountPath": "/a"},
}

// at returns values with the given value at a path. List elements also get their required fields.
func at(path []string, value any) map[string]any {
	for i, name := range slices.Backward(path) {
		if name != "0" {
			value = map[string]any{name: value}
			continue
		}
		element, known := elements[strings.Join(path[:i], ".")]
		if !known {
			element = elements[path[i-1]]
		}
		value = []any{install.MergeValues(element, value.(map[string]any))}
	}
	return value.(map[string]any)
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strings"
	"testing"
)

// wrong returns values that the schema of a leaf must reject.
func wrong(l *valueLeaf) []any {
	var values []any
	switch {
	case l.schema.Enum != nil:
		values = []any{"nonsense", 17}
	case l.schema.Type == "string":
		values = []any{17}
	case l.schema.Type == "integer":
		values = []any{"x", 1.5, -1}
	default:
		values = []any{"x"}
	}
	if l.schema.Pattern != "" {
		values = append(values, " no sense ")
	}
	return values
}

func TestWrongValuesAreErrors(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	for _, l := range leaves(t) {
		for _, value := range wrong(l) {
			pointer := "'/" + strings.Join(l.path, "/") + "'"
			if err := schema.Validate(at(l.path, value)); err == nil || !strings.Contains(err.Error(), pointer) {
				t.Errorf("%s = %v: error = %v, want one that names %s", l, value, err, pointer)
			}
		}
		if l.free {
			continue
		}
		sibling := append(slices.Clone(l.path[:len(l.path)-1]), "unknownSibling")
		if err := schema.Validate(at(sibling, "x")); err == nil || !strings.Contains(err.Error(), "unknownSibling") {
			t.Errorf("%v: error = %v, want one that names the key", sibling, err)
		}
	}
}

// free maps names of values that allow fields of any name to the reason.
var free = map[string]string{
	"global": "Helm's", "affinity": "Kubernetes'", "pod": "Kubernetes'", "service": "Kubernetes'", "valueFrom": "Kubernetes'",
	"quantities": "a map", "strings": "a map", "annotations": "a map", "rewrites": "a map", "labels": "a map", "resourceQuota": "a map",
	"volumes": "Kubernetes'", "mounts": "Kubernetes'",
	"objects": "Kubernetes'", "egress": "Kubernetes'",
	"componentEgress": "Kubernetes'", "namespaceSelector": "Kubernetes'", "podSelector": "Kubernetes'",
	"podMetadata": "its propertyNames are an enum", "podSpec": "its propertyNames are an enum",
}

func TestValuesAreClosed(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	var walk func(s *valueSchema, name string)
	walk = func(s *valueSchema, name string) {
		if s.Type == "object" && s.Additional != false {
			used[name] = true
			if free[name] == "" {
				t.Errorf("%s allows fields of any name, so the schema does not catch typing errors", name)
			}
		}
		for below, property := range s.Properties {
			walk(property, below)
		}
		for below, definition := range s.Definitions {
			walk(definition, below)
		}
		if s.Items != nil {
			walk(s.Items, name)
		}
	}
	walk(readSchema(t), "values")
	for name := range free {
		if !used[name] {
			t.Errorf("free lists %s, but its schema does not allow fields of any name", name)
		}
	}
}

func TestValuesAndSchemaNameTheSame(t *testing.T) {
	t.Parallel()
	root := readSchema(t)
	var walk func(s *valueSchema, values map[string]any, path string)
	walk = func(s *valueSchema, values map[string]any, path string) {
		for name, property := range s.Properties {
			value, given := values[name]
			if !given {
				t.Errorf("%s%s is in the schema, but not in values.yaml", path, name)
			}
			// values.yaml documents the fields of an empty map only in its comment.
			if below, isMap := value.(map[string]any); isMap && len(below) > 0 && len(property.Properties) > 0 {
				walk(property, below, path+name+".")
			}
		}
		for name := range values {
			if s.Properties[name] == nil {
				t.Errorf("%s%s is in values.yaml, but not in the schema", path, name)
			}
		}
	}
	walk(root, loadChart(t).Values, "")
}

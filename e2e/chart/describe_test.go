// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/krmfn/krmfn/e2e/generated"
)

// readValues returns the root mapping of values.yaml, including its comments.
func readValues(t *testing.T) *yaml.Node {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chartDir(t), "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return document.Content[0]
}

// describe adds to a schema what values.yaml specifies: descriptions from the comments, defaults, and required keys. Every key is required,
// because templates do not handle a value that a user sets to null.
func describe(t *testing.T, schema map[string]any, mapping *yaml.Node) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	required := []string{}
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		property, known := properties[key.Value].(map[string]any)
		if !known {
			t.Errorf("values.yaml has %s, which values.schema.json does not have", key.Value)
			continue
		}
		required = append(required, key.Value)
		if text := prose(key.HeadComment); text != "" {
			property["description"] = text
		}
		if described(value) {
			describe(t, property, value)
			continue
		}
		var set any
		if err := value.Decode(&set); err != nil {
			t.Fatal(err)
		}
		property["default"] = set
	}
	schema["required"] = required
}

// prose returns a comment without its examples, which are the indented lines.
func prose(comment string) string {
	var lines []string
	for line := range strings.Lines(comment) {
		line = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(line), "#"), " ")
		if !strings.HasPrefix(line, " ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}

// The schema repeats the descriptions and defaults of values.yaml, because editors show them.
func TestSchemaDescribesValues(t *testing.T) {
	t.Parallel()
	file := filepath.Join(chartDir(t), "values.schema.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	schema := map[string]any{}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	describe(t, schema, readValues(t))
	var made bytes.Buffer
	encoder := json.NewEncoder(&made)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(schema); err != nil {
		t.Fatal(err)
	}
	generated.Check(t, file, made.String(), *update, "go -C e2e test ./chart -run TestSchemaDescribesValues -update")
}

// compiled compiles the schema once for many validations. If all is false, no value is required.
func compiled(t *testing.T, all bool) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(loadChart(t).Schema))
	if err != nil {
		t.Fatal(err)
	}
	if !all {
		lenient(document)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("values.schema.json", document); err != nil {
		t.Fatal(err)
	}
	return compiler.MustCompile("values.schema.json")
}

// lenient deletes the required keywords of a schema and of its properties.
func lenient(schema any) {
	object, _ := schema.(map[string]any)
	delete(object, "required")
	properties, _ := object["properties"].(map[string]any)
	for _, property := range properties {
		lenient(property)
	}
}

// Helm removes a value that is null, and no template handles a missing value.
func TestNullIsAnError(t *testing.T) {
	t.Parallel()
	parsed, schema := loadChart(t), compiled(t, true)
	var walk func(mapping *yaml.Node, path []string)
	walk = func(mapping *yaml.Node, path []string) {
		for i := 0; i < len(mapping.Content); i += 2 {
			key, value := mapping.Content[i].Value, mapping.Content[i+1]
			here := append(slices.Clone(path), key)
			values, err := chartutil.CoalesceValues(parsed, at(here, nil))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(values.AsMap()); err == nil || !strings.Contains(err.Error(), "'"+key+"'") {
				t.Errorf("%v = null: error = %v, want one that names the key", here, err)
			}
			if described(value) {
				walk(value, here)
			}
		}
	}
	walk(readValues(t), nil)
}

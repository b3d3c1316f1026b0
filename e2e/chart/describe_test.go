// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// describe adds to a schema what values.yaml specifies: descriptions from the comments, and defaults. No key is required, because Helm
// deletes a value that is null, which means its default.
func describe(t *testing.T, schema map[string]any, mapping *yaml.Node) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		property, known := properties[key.Value].(map[string]any)
		if !known {
			t.Errorf("values.yaml has %s, which values.schema.json does not have", key.Value)
			continue
		}
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
	delete(schema, "required")
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

// defaults returns the defaults of all values below a mapping, by path.
func defaults(t *testing.T, path string, mapping *yaml.Node) map[string]any {
	t.Helper()
	all := map[string]any{}
	for i := 0; i < len(mapping.Content); i += 2 {
		name, value := path+mapping.Content[i].Value, mapping.Content[i+1]
		if described(value) {
			maps.Copy(all, defaults(t, name+".", value))
			continue
		}
		var set any
		if err := value.Decode(&set); err != nil {
			t.Fatal(err)
		}
		all[name] = set
	}
	return all
}

// Templates cannot read values.yaml, and take the defaults of values that are null from defaults.json.
func TestDefaults(t *testing.T) {
	t.Parallel()
	text, err := json.MarshalIndent(defaults(t, "", readValues(t)), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	generated.Check(t, filepath.Join(chartDir(t), "defaults.json"), string(text)+"\n", *update, "go -C e2e test ./chart -run TestDefaults -update")
}

// compiled compiles the schema once for many validations.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	return schemaCompiler(t).MustCompile(schemaURL)
}

// schemaURL is the URL of the schema for schemaCompiler. A JSON pointer may follow it.
const schemaURL = "values.schema.json#"

func schemaCompiler(t *testing.T) *jsonschema.Compiler {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(loadChart(t).Schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(schemaURL, document); err != nil {
		t.Fatal(err)
	}
	return compiler
}

// A value without content, or a section whose values are all commented out, is null: each means the default.
func TestNullMeansTheDefault(t *testing.T) {
	t.Parallel()
	parsed, schema := loadChart(t), compiled(t)
	want, err := renderFast(parsed, nil)
	if err != nil {
		t.Fatal(err)
	}
	var walk func(mapping *yaml.Node, path []string)
	walk = func(mapping *yaml.Node, path []string) {
		for i := 0; i < len(mapping.Content); i += 2 {
			here, value := append(slices.Clone(path), mapping.Content[i].Value), mapping.Content[i+1]
			values, err := chartutil.CoalesceValues(parsed, at(here, nil))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(values.AsMap()); err != nil {
				t.Errorf("%v = null: %v", here, err)
			}
			if got, err := renderFast(parsed, at(here, nil)); err != nil || !maps.Equal(got, want) {
				t.Errorf("%v = null: error = %v; manifests (-default +null):\n%s", here, err, cmp.Diff(want, got))
			}
			if described(value) {
				walk(value, here)
			}
		}
	}
	walk(readValues(t), nil)
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const outputSchema = "../../../docs/krmfn-output.schema.json"

// strictSchema compiles a definition of the schema of outputs. Other programs must accept properties that they do not know, and the
// test none that the schema does not have.
func strictSchema(t *testing.T, definition string) *jsonschema.Schema {
	t.Helper()
	content, err := os.Open(outputSchema)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close() //nolint:errcheck // it is read
	schema, err := jsonschema.UnmarshalJSON(content)
	if err != nil {
		t.Fatal(err)
	}
	closeObjects(schema)
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("output.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("output.json#/$defs/" + definition)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// closeObjects permits only the properties that the objects of a schema name.
func closeObjects(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		_, named := s["properties"].(map[string]any)
		if _, open := s["additionalProperties"]; named && !open && s["type"] == "object" {
			s["additionalProperties"] = false
		}
		for _, below := range s {
			closeObjects(below)
		}
	case []any:
		for _, below := range s {
			closeObjects(below)
		}
	}
}

func TestOutputSchema(t *testing.T) {
	t.Parallel()
	selected := strings.Replace(kptfile, "      exclude:\n", "      name: labels\n      exclude:\n        - {kind: Sevice}\n", 1)
	for name, tc := range map[string]struct {
		changed    map[string]string
		definition string
		args       []string
		stdin      string
	}{
		"render":          {args: []string{"render", "DIR"}},
		"a dry run":       {args: []string{"render", "DIR", "--dry-run"}},
		"check":           {args: []string{"render", "DIR", "--check"}},
		"isolated":        {args: []string{"render", "DIR", "--isolate"}},
		"warnings":        {args: []string{"render", "DIR"}, changed: map[string]string{"Kptfile": strings.Replace(selected, "set-labels:v0.2", "set-labels:v9.9.9", 1)}},
		"a failure":       {args: []string{"render", "DIR"}, changed: map[string]string{"net/service.yaml": service + "  type: 5\n"}},
		"no runner":       {args: []string{"render", "DIR", "--runner=127.0.0.1:1"}},
		"no package":      {args: []string{"render", "DIR/net"}},
		"not found":       {args: []string{"render", "DIR", "--runtime=builtin"}, changed: map[string]string{"Kptfile": strings.ReplaceAll(kptfile, "set-labels", "set-nothing")}},
		"eval":            {args: []string{"eval", "DIR", "-i=set-labels", "--", "a=b"}},
		"eval of stdin":   {args: []string{"eval", "-", "-i=set-labels", "--", "a=b"}, stdin: service},
		"eval that fails": {args: []string{"eval", "-", "-i=set-labels"}, stdin: service},
		"plan":            {args: []string{"render", "DIR", "--plan"}, changed: planned(), definition: "plan"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newPackage(t, tc.changed)
			call := invocation{stdin: tc.stdin}
			for _, arg := range tc.args {
				call.args = append(call.args, strings.Replace(arg, "DIR", dir, 1))
				if len(call.args) == 1 {
					call.args = append(call.args, "--format=json")
				}
			}
			got := call.run(t.Context(), t)
			document, err := jsonschema.UnmarshalJSON(strings.NewReader(got.out))
			if err != nil {
				t.Fatalf("%v in\n%s\n%s", err, got.out, got.err)
			}
			definition := tc.definition
			if definition == "" {
				definition = "document"
			}
			if err := strictSchema(t, definition).Validate(document); err != nil {
				t.Errorf("%v in\n%s", err, got.out)
			}
		})
	}
}

// The schema refuses what is no output, so that it can be relied on.
func TestOutputSchemaRefuses(t *testing.T) {
	t.Parallel()
	document := strictSchema(t, "document")
	for _, text := range []string{
		`{}`, `[]`, `{"renderStatus": {"error": ""}, "functions": [], "changedFiles": []}`,
		`{"renderStatus": {"error": ""}, "functions": [], "changedFiles": [], "written": "yes"}`,
		`{"renderStatus": {"error": ""}, "functions": [{}], "changedFiles": [], "written": true}`,
		`{"renderStatus": {"error": ""}, "functions": [], "changedFiles": [{"path": "a", "change": "renamed"}], "written": true}`,
		`{"renderStatus": {"error": ""}, "functions": [], "changedFiles": [], "written": true, "more": 1}`,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if document.Validate(value) == nil {
			t.Errorf("it accepts %s", text)
		}
	}
}

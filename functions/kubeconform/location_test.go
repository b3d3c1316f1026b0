// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !light

package kubeconform

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

// frogSchema is the schema of a custom resource and refers to another file.
const (
	frogSchema = `{
	"type": "object",
	"properties": {
		"metadata": {"type": "object"},
		"spec": {
			"type": "object",
			"required": ["colour"],
			"properties": {
				"colour": {"enum": ["green", "red"]},
				"interval": {"type": "string", "format": "duration"},
				"port": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
				"pond": {"$ref": "pond.json"}
			}
		}
	}
}`
	pondSchema = `{"type": "object", "properties": {"depth": {"type": "integer", "minimum": 1}}}`
)

const frogs = `
{apiVersion: example.com/v1, kind: Frog, metadata: {name: good}, spec: {colour: red, interval: 1m, port: http, pond: {depth: 2}}}
---
{apiVersion: example.com/v1, kind: Frog, metadata: {name: iso}, spec: {colour: red, interval: PT5M, port: 80}}
---
{apiVersion: example.com/v1, kind: Frog, metadata: {name: bad}, spec: {interval: PT, port: true, pond: {depth: 0}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: 1}
`

// frogProblems returns the problems of the frogs, followed by more.
func frogProblems(more ...string) []string {
	return append([]string{
		"example.com/v1/Frog/bad spec: missing property 'colour'",
		"example.com/v1/Frog/bad spec.interval: 'PT' is not valid duration: want a form such as 1h30m or PT1H30M",
		"example.com/v1/Frog/bad spec.pond.depth: minimum: got 0, want 1",
		"example.com/v1/Frog/bad spec.port: 'oneOf' failed, none matched: got boolean, want integer; got boolean, want string",
	}, more...)
}

func TestKubeconformLocations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"frog_v1.json":          frogSchema,
		"pond.json":             pondSchema,
		"configmap_v1.json":     `{"properties": {"data": {"type": "integer"}}}`,
		"broken/frog_v1.json":   `{"type": "frog"}`,
		"nothing/frog_v1.json":  "null",
		"garbage/frog_v1.json":  "<html>",
		"dir/frog_v1.json/file": "",

		// Layout of the public registry.
		"tree/master-standalone/frog-example-v1.json":        "{}",
		"tree/master-standalone-strict/frog-example-v1.json": `{"additionalProperties": false}`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)

	const file = "/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json"
	const frog = "{apiVersion: example.com/v1, kind: Frog, metadata: {name: f}}"
	const configMap = "v1/ConfigMap/c data: got number, want null or object"
	tests := map[string]struct {
		items  string
		config string
		want   []string
	}{
		"further location": {
			items:  frogs,
			config: "{additional_schema_locations: '" + dir + file + "'}",
			want:   frogProblems(configMap),
		},
		"location that is a file URL": {
			items:  frogs,
			config: "{additional_schema_locations: 'file://" + dir + file + "'}",
			want:   frogProblems(configMap),
		},
		"several locations": {
			items:  frogs,
			config: "{additional_schema_locations: '" + dir + "/none" + file + ", " + dir + file + "'}",
			want:   frogProblems(configMap),
		},
		"other location instead of the bundled schemas": {
			items:  frogs + "---\n{apiVersion: v1, kind: Pod, metadata: {name: p}}",
			config: "{schema_location: '" + dir + file + "'}",
			want:   frogProblems("v1/Pod/p: " + missingSchema("Pod")),
		},
		"bundled schemas after another location": {
			items:  frogs + "---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: 1}",
			config: "{schema_location: '" + dir + file + "', additional_schema_locations: default}",
			want:   frogProblems("v1/Pod/p spec: got number, want null or object"),
		},
		"over HTTP": {
			items:  frogs,
			config: "{additional_schema_locations: '" + server.URL + file + "'}",
			want:   frogProblems(configMap),
		},
		"relative location": {
			items:  frogs,
			config: "{additional_schema_locations: '{{ .ResourceKind }}_{{- .ResourceAPIVersion -}}.json'}",
			want:   frogProblems(configMap),
		},
		"web page over HTTP": {
			items:  frog,
			config: "{schema_location: '" + server.URL + "/garbage" + file + "'}",
			want:   []string{"example.com/v1/Frog/f: " + missingSchema("Frog")},
		},
		"directory in the layout of the public registry": {
			items:  frog,
			config: "{schema_location: '" + dir + "/tree'}",
		},
		"directory in the layout of the public registry, strict": {
			items:  frog,
			config: "{schema_location: '" + dir + "/tree', strict: 'true'}",
			want:   []string{"example.com/v1/Frog/f: additional properties 'apiVersion', 'kind', 'metadata' not allowed"},
		},
		"schema that is null": {
			items:  frog,
			config: "{schema_location: '" + dir + "/nothing" + file + "'}",
			want:   []string{"example.com/v1/Frog/f: " + missingSchema("Frog")},
		},
		"broken schema, with a good one after it": {
			items:  frog,
			config: "{schema_location: '" + dir + "/broken" + file + "', additional_schema_locations: '" + dir + file + "'}",
		},
	}
	ctx := permitting(t.Context(), dir, server.URL)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rl := kubeconformList(t, test.items, test.config)
			if _, err := kubeconform(ctx, rl); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, resultLines(t, rl.Results), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
		})
	}

	for name, want := range map[string]string{
		"broken":  "compile schema " + dir + "/broken/frog_v1.json: ",
		"garbage": "read schema of example.com/v1 Frog: ",
		"dir":     "read schema of example.com/v1 Frog: ",
	} {
		t.Run("unusable schema, "+name, func(t *testing.T) {
			t.Parallel()
			rl := kubeconformList(t, frog, "{schema_location: '"+dir+"/"+name+file+"', ignore_missing_schemas: 'true'}")
			if ok, err := kubeconform(ctx, rl); ok || err != nil {
				t.Errorf("kubeconform() = %t, %v, want false and no error", ok, err)
			}
			lines := resultLines(t, rl.Results)
			if len(lines) != 1 || !strings.HasPrefix(lines[0], "example.com/v1/Frog/f: "+want) || strings.Contains(lines[0], "\n") {
				t.Errorf("results = %q, want one line that begins with %q", lines, want)
			}
		})
	}
}

// permitting returns a context that permits schema locations.
func permitting(ctx context.Context, locations ...string) context.Context {
	return function.WithProgram(ctx, function.Program{Environ: []string{LocationsVariable + "=" + strings.Join(locations, ",")}, Stderr: io.Discard})
}

func TestValidateDuration(t *testing.T) {
	t.Parallel()
	for value, want := range map[any]bool{
		"1h30m": true, "5 min": true, "P1D": true, "P1Y": true, "P2W": true, "P1Y2M3DT4H5M6S": true, "PT1S": true, 5: true,
		"": false, "P": false, "PT": false, "P1DT": false, "fast": false, "1": false,
	} {
		if got := validateDuration(value) == nil; got != want {
			t.Errorf("validateDuration(%v) valid = %t, want %t", value, got, want)
		}
	}
}

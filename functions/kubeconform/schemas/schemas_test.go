// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryKindCompiles(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		set := Kubernetes(strict)
		for id := range set.kinds {
			slash := strings.LastIndexByte(id, '/')
			schema, err := set.Schema(id[:slash], id[slash+1:])
			if err != nil || schema == nil {
				t.Errorf("strict %t: Schema(%s) = %v, %v, want a schema", strict, id, schema, err)
			}
		}
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	set := Kubernetes(false)
	if got := set.Release(); !strings.HasPrefix(got, "v1.") {
		t.Errorf("Release() = %q, want a Kubernetes release", got)
	}
	tests := map[string]struct {
		apiVersion, kind string
		want             bool
	}{
		"core":                {"v1", "Pod", true},
		"group":               {"apps/v1", "Deployment", true},
		"group with dots":     {"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", true},
		"CRD":                 {"apiextensions.k8s.io/v1", "CustomResourceDefinition", true},
		"API service":         {"apiregistration.k8s.io/v1", "APIService", true},
		"kind in wrong case":  {"apps/v1", "deployment", true},
		"group in wrong case": {"Apps/v1", "Deployment", false},
		"old version":         {"extensions/v1beta1", "Deployment", false},
		"custom resource":     {"example.com/v1", "Frog", false},
		"nothing":             {"", "", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema, err := Kubernetes(false).Schema(test.apiVersion, test.kind)
			if err != nil || (schema != nil) != test.want {
				t.Errorf("Schema(%s, %s) = %v, %v, want a schema: %t", test.apiVersion, test.kind, schema, err, test.want)
			}
		})
	}
}

func TestDocument(t *testing.T) {
	t.Parallel()
	definitions := map[string]string{
		"object": `{"type":["object"],"properties":{"a":{"$ref":"other"}}}`,
		"map":    `{"type":["object"],"additionalProperties":{"$ref":"other"}}`,
		"broken": `{"type`,
	}
	tests := map[string]struct {
		name   string
		strict bool
		want   any // expected additionalProperties
		fails  string
	}{
		"object":         {name: "object"},
		"strict object":  {name: "object", strict: true, want: false},
		"strict map":     {name: "map", strict: true, want: map[string]any{"$ref": "other"}},
		"no such object": {name: "none", fails: "there is no Kubernetes schema kubernetes:///none"},
		"broken":         {name: "broken", fails: "parse Kubernetes schema kubernetes:///broken: unexpected EOF"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document, err := documents{definitions, test.strict}.Load(urlPrefix + test.name)
			if test.fails != "" {
				if err == nil || err.Error() != test.fails {
					t.Fatalf("error = %v, want %s", err, test.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, document.(map[string]any)["additionalProperties"]); diff != "" {
				t.Errorf("additionalProperties (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	text := `{"properties":{"a":{"$ref":"one"},"b":{"items":{"$ref":"two"}},"$ref":{"type":["string"]}}}`
	if diff := cmp.Diff([]string{"one", "two"}, slices.Collect(references(text))); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	for range references(text) {
		break // must end the iteration
	}
}

// Every reference in a definition must be the name of another definition.
func TestReferencesExist(t *testing.T) {
	t.Parallel()
	definitions := Kubernetes(false).definitions
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		for reference := range references(definitions[name]) {
			if definitions[reference] == "" {
				t.Errorf("%s refers to %s, which does not exist", name, reference)
			}
		}
	}
}

func BenchmarkDeployment(b *testing.B) {
	for b.Loop() {
		if schema, err := Kubernetes(true).Schema("apps/v1", "Deployment"); schema == nil || err != nil {
			b.Fatal(schema, err)
		}
	}
}

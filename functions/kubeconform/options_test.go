// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !light

package kubeconform

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"
)

func TestKubeconformOptions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		config string
		want   options
	}{
		"none": {
			want: options{locations: []string{"default"}, skipKinds: map[string]bool{}},
		},
		"made by kpt fn eval without arguments": {
			config: "{apiVersion: v1, kind: ConfigMap, metadata: {name: function-input}}",
			want:   options{locations: []string{"default"}, skipKinds: map[string]bool{}},
		},
		"empty values": {
			config: `{apiVersion: v1, kind: ConfigMap, data: {schema_location: "", additional_schema_locations: "",
				ignore_missing_schemas: "", skip_kinds: "", strict: null}}`,
			want: options{locations: []string{"default"}, skipKinds: map[string]bool{}},
		},
		"everything": {
			config: `{apiVersion: v1, kind: ConfigMap, data: {schema_location: /a, additional_schema_locations: "/b, default",
				ignore_missing_schemas: "true", skip_kinds: "Pod, apps/v1/Deployment", strict: "true"}}`,
			want: options{
				locations:     []string{"/a", "/b", "default"},
				skipKinds:     map[string]bool{"Pod": true, "apps/v1/Deployment": true},
				ignoreMissing: true,
				strict:        true,
			},
		},
		"unquoted and false switches": {
			config: `{apiVersion: v1, kind: ConfigMap, data: {ignore_missing_schemas: true, strict: "false"}}`,
			want: options{
				locations: []string{"default"}, skipKinds: map[string]bool{}, ignoreMissing: true,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := fn.NewEmptyKubeObject()
			if test.config != "" {
				var err error
				if config, err = fn.ParseKubeObject([]byte(test.config)); err != nil {
					t.Fatal(err)
				}
			}
			got, err := parseOptions(config)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(options{})); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKubeconformBadConfig(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		config string
		want   string
	}{
		"unknown key": {
			config: `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {strikt: "true"}}`,
			want: "v1/ConfigMap/c: functionConfig: data.strikt: unknown key, want one of: additional_schema_locations, " +
				"ignore_missing_schemas, schema_location, skip_kinds, strict",
		},
		"not a boolean": {
			config: `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {strict: "on"}}`,
			want:   `v1/ConfigMap/c: functionConfig: data.strict: want "true" or "false", got "on"`,
		},
		"the first of several mistakes": {
			config: `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {z: "1", ignore_missing_schemas: a, strict: b}}`,
			want:   `v1/ConfigMap/c: functionConfig: data.ignore_missing_schemas: want "true" or "false", got "a"`,
		},
		"list": {
			config: `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {skip_kinds: [Pod]}}`,
			want:   "v1/ConfigMap/c: functionConfig: data.skip_kinds: want a string",
		},
		"template": {
			config: `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {schema_location: "/{{.Nope}}.json"}}`,
			want: `v1/ConfigMap/c: functionConfig: data.schema_location: schema location "/{{.Nope}}.json": unknown field "Nope": want one of ` +
				`["Group" "KindSuffix" "NormalizedKubernetesVersion" "ResourceAPIVersion" "ResourceKind" "StrictSuffix"]`,
		},
		"other kind": {
			config: `{apiVersion: fn.kpt.dev/v1alpha1, kind: Kubeval, metadata: {name: k}}`,
			want:   "fn.kpt.dev/v1alpha1/Kubeval/k: functionConfig is a fn.kpt.dev/v1alpha1 Kubeval: want a v1 ConfigMap",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rl := kubeconformList(t, "{apiVersion: v1, kind: Pod, spec: wrong}", "")
			var err error
			if rl.FunctionConfig, err = fn.ParseKubeObject([]byte(test.config)); err != nil {
				t.Fatal(err)
			}
			ok, err := kubeconform(t.Context(), rl)
			if ok || err != nil {
				t.Errorf("kubeconform() = %t, %v, want false and no error", ok, err)
			}
			if diff := cmp.Diff([]string{test.want}, resultLines(t, rl.Results)); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
		})
	}
}

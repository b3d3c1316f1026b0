// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

func TestDecodeConfig(t *testing.T) {
	t.Parallel()
	type settings struct {
		Owner    string   `json:"owner"`
		Replicas int      `json:"replicas,string"`
		Teams    []string `json:"teams"`
	}
	const configMap, own = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", "apiVersion: example.com/v1\nkind: Owner\nmetadata: {name: c}\n"
	for name, tc := range map[string]struct {
		config string
		want   settings
		err    string
	}{
		"no functionConfig":        {want: settings{Owner: "default"}},
		"a ConfigMap":              {config: configMap + "data: {owner: shop, replicas: \"3\"}\n", want: settings{Owner: "shop", Replicas: 3}},
		"a ConfigMap without data": {config: configMap, want: settings{Owner: "default"}},
		"the function's own kind":  {config: own + "spec: {teams: [a, b]}\n", want: settings{Owner: "default", Teams: []string{"a", "b"}}},
		"an unknown field":         {config: configMap + "data: {ownr: shop}\n", err: `data of functionConfig: unknown field "ownr"`},
		"another letter case":      {config: configMap + "data: {Owner: shop}\n", err: `unknown field "Owner"`},
		"a field above the spec":   {config: own + "owner: shop\n", err: `functionConfig has the unknown field "owner": put configuration fields under spec`},
		"a wrong type":             {config: own + "spec: {owner: [shop]}\n", err: "spec of functionConfig: json: cannot unmarshal array"},
		"not a number":             {config: configMap + "data: {replicas: many}\n", err: "data of functionConfig: json: invalid use of ,string struct tag"},
		"another kind":             {config: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: c}\n", err: "functionConfig is of kind Deployment: use a ConfigMap or the kind Owner"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := fn.NewEmptyKubeObject()
			if tc.config != "" {
				parsed, err := fn.ParseKubeObject([]byte(tc.config))
				if err != nil {
					t.Fatal(err)
				}
				config = parsed
			}
			got := settings{Owner: "default"}
			err := function.DecodeConfig(config, "Owner", &got)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("DecodeConfig() = %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

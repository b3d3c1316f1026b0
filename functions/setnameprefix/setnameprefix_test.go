// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package setnameprefix

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestSetNamePrefix(t *testing.T) {
	t.Parallel()
	const items = `
- {apiVersion: v1, kind: Namespace, metadata: {name: a}}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: "a"} # kpt-set: ${a}
- {apiVersion: v1, kind: Secret, metadata: {name: dev-b}}
- {apiVersion: v1, kind: Secret, metadata: {name: c-dev-}}
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec: {volumes: [{configMap: {name: a}}, {secret: {secretName: dev-b}}, {secret: {secretName: c-dev-}}]}
`
	const want = `
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: a}}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: "dev-a"} # kpt-set: ${a}
- {apiVersion: v1, kind: Secret, metadata: {name: dev-b}}
- {apiVersion: v1, kind: Secret, metadata: {name: dev-c-dev-}}
- apiVersion: v1
  kind: Pod
  metadata: {name: dev-p}
  spec: {volumes: [{configMap: {name: dev-a}}, {secret: {secretName: dev-b}}, {secret: {secretName: dev-c-dev-}}]}
`
	cases := []functiontest.Case{
		{Name: "ConfigMap", Config: "apiVersion: v1\nkind: ConfigMap\ndata: {prefix: dev-}", Items: items, Want: want},
		{Name: "own kind", Config: "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetNamePrefix\nprefix: dev-", Items: items, Want: want},
		{
			Name: "duplicate name", Config: "apiVersion: v1\nkind: ConfigMap\ndata: {prefix: dev-}",
			Items: "- {apiVersion: v1, kind: Secret, metadata: {name: a}}\n- {apiVersion: v1, kind: Secret, metadata: {name: dev-a}}\n",
			Want: `
items:
- {apiVersion: v1, kind: Secret, metadata: {name: dev-a}}
- {apiVersion: v1, kind: Secret, metadata: {name: dev-a}}
results:
- message: 'failed to rename items, because two would have the same identity: may not add resource with an already registered id: ~G_v1_Secret|~X|dev-a'
  severity: error
`,
			Err: functiontest.Failed,
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
	functiontest.EvaluateTwice(t, Function, cases)
}

func TestSetNamePrefixBadConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, config, message, ref string }{
		{"none", "", "'functionConfig is missing: want a v1 ConfigMap or a SetNamePrefix.v1alpha1.fn.kpt.dev'", " {}"},
		{"no prefix", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}", "'functionConfig has no prefix: name one that is not empty'", "\n    name: c\n    apiVersion: v1\n    kind: ConfigMap"},
		{"data is a list", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: []", "data of the functionConfig is not a map", "\n    name: c\n    apiVersion: v1\n    kind: ConfigMap"},
		{"wrong type", "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetNamePrefix\nmetadata: {name: c}\nprefix: []", "'yaml: unmarshal errors: line 9: cannot unmarshal !!seq into string'", "\n    name: c\n    apiVersion: fn.kpt.dev/v1alpha1\n    kind: SetNamePrefix"},
		{"other kind", "apiVersion: v1\nkind: Secret\nmetadata: {name: c}", "'functionConfig is a v1 Secret: want a v1 ConfigMap or a fn.kpt.dev/v1alpha1 SetNamePrefix'", "\n    name: c\n    apiVersion: v1\n    kind: Secret"},
	} {
		functiontest.EvaluateAll(t, Function, []functiontest.Case{{
			Name: c.name, Config: c.config, Items: "- {apiVersion: v1, kind: Secret, metadata: {name: a}}\n",
			Want: "items:\n- {apiVersion: v1, kind: Secret, metadata: {name: a}}\nresults:\n- file:\n    index: -1\n  message: " + c.message +
				"\n  resourceRef:" + c.ref + "\n  severity: error\n",
			Err: functiontest.Failed,
		}})
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestFormat(t *testing.T) {
	t.Parallel()
	cases := []functiontest.Case{
		{
			Name: "fields in the order of Kubernetes, containers by name, strings that look like something else",
			Items: `
- spec:
    # what it runs
    template:
      spec:
        containers:
        - image: nginx
          name: web
          args: [on, '1', b]
        - name: app # first
    replicas: "3"
  kind: Deployment
  metadata:
    annotations: {b: yes, a: x}
    name: d
  apiVersion: apps/v1
- {zeta: 1, kind: A, alpha: on, apiVersion: example.com/v1}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: d
    annotations: {a: x, b: "yes"}
  spec:
    replicas: 3
    # what it runs
    template:
      spec:
        containers:
        - name: app # first
        - name: web
          image: nginx
          args: ["on", '1', b]
- {apiVersion: example.com/v1, kind: A, alpha: on, zeta: 1}
`,
		},
		{
			Name: "kept resources and invalid items",
			Items: `
- {kind: A, apiVersion: v1, metadata: {annotations: {config.kubernetes.io/formatting: none}}}
- {kind: A, b: c, a: b}
- {apiVersion: v1, b: c, a: b}
`,
			Want: `
items:
- {kind: A, apiVersion: v1, metadata: {annotations: {config.kubernetes.io/formatting: none}}}
- {kind: A, b: c, a: b}
- {apiVersion: v1, b: c, a: b}
`,
		},
		{
			Name:  "an alias before its anchor after reordering",
			Items: "- {kind: A, apiVersion: v1, b: &x [y], a: *x}\n",
			Want:  "items:\n- {apiVersion: v1, kind: A, a: [y], b: &x [y]}\n",
		},
		{
			Name:  "an annotation with another value",
			Items: "- {kind: A, apiVersion: v1, metadata: {name: a, annotations: {config.kubernetes.io/formatting: x}}}\n",
			Want: `items:
- {kind: A, apiVersion: v1, metadata: {name: a, annotations: {config.kubernetes.io/formatting: x}}}
results:
- file:
    index: -1
  message: formatting annotation has illegal value x
  resourceRef:
    name: a
    apiVersion: v1
    kind: A
  severity: error
`,
			Err: functiontest.Failed,
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
	functiontest.EvaluateTwice(t, Function, cases)
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package removelocalconfigresources

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestRemoveLocalConfig(t *testing.T) {
	t.Parallel()
	cases := []functiontest.Case{
		{
			Name: "only the value true, in any case, is removed",
			Items: `
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a, annotations: {config.kubernetes.io/local-config: 'true', internal.config.kubernetes.io/path: a.yaml}}
  # comment of a
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: b, annotations: {config.kubernetes.io/local-config: "True", config.kubernetes.io/path: b.yaml}}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, annotations: {config.kubernetes.io/local-config: true}}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: d, annotations: {config.kubernetes.io/local-config: 'yes'}}
  data: {k: 'v'} # kept
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: e, annotations: {config.kubernetes.io/local-config: 'false'}}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: f}
`,
			Want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: d, annotations: {config.kubernetes.io/local-config: 'yes'}}
  data: {k: 'v'} # kept
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: e, annotations: {config.kubernetes.io/local-config: 'false'}}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: f}
results:
- message: 'Number of resources pruned: 3'
  severity: info
- file:
    path: a.yaml
  message: 'Resource name: [a]'
  severity: info
- file:
    path: b.yaml
  message: 'Resource name: [b]'
  severity: info
- message: 'Resource name: [c]'
  severity: info
`,
		},
		{
			Name: "an annotation shared through an alias",
			Items: `
- apiVersion: v1
  kind: ConfigMap
  x: &t 'true'
  metadata:
    name: a
    annotations: {config.kubernetes.io/local-config: *t}
`,
			Want: `
results:
- message: 'Number of resources pruned: 1'
  severity: info
- message: 'Resource name: [a]'
  severity: info
`,
		},
		{
			Name: "both paths",
			Items: `
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a, annotations: {config.kubernetes.io/local-config: 'true', internal.config.kubernetes.io/path: a.yaml, config.kubernetes.io/path: b.yaml}}
`,
			Want: `
results:
- message: 'Number of resources pruned: 1'
  severity: info
- file:
    path: a.yaml
  message: 'Resource name: [a]'
  severity: info
`,
		},
		{
			Name: "a Kptfile too",
			Items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k, annotations: {config.kubernetes.io/local-config: 'true'}}
`,
			Want: `
results:
- message: 'Number of resources pruned: 1'
  severity: info
- message: 'Resource name: [k]'
  severity: info
`,
		},
		{
			Name: "empty resources",
			Items: `
- {}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a}
`,
			Want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a}
results:
- message: Found no resources to prune with the local config annotation
  severity: warning
`,
		},
		{
			Name: "any functionConfig",
			Config: `
apiVersion: example.com/v1
kind: Frog
`,
			Items: `
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a}
`,
			Want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a}
results:
- message: Found no resources to prune with the local config annotation
  severity: warning
`,
		},
		{
			Name: "no items",
			Want: `
results:
- message: Found no resources to prune with the local config annotation
  severity: warning
`,
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
	functiontest.EvaluateTwice(t, Function, cases)
}

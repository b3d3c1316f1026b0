// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import "testing"

func TestRemoveLocalConfig(t *testing.T) {
	t.Parallel()
	cases := []evaluation{
		{
			name: "true in any case is removed, other values are not",
			items: `
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
			want: `
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
			name: "an annotation shared through an alias",
			items: `
- apiVersion: v1
  kind: ConfigMap
  x: &t 'true'
  metadata:
    name: a
    annotations: {config.kubernetes.io/local-config: *t}
`,
			want: `
results:
- message: 'Number of resources pruned: 1'
  severity: info
- message: 'Resource name: [a]'
  severity: info
`,
		},
		{
			name: "both paths",
			items: `
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a, annotations: {config.kubernetes.io/local-config: 'true', internal.config.kubernetes.io/path: a.yaml, config.kubernetes.io/path: b.yaml}}
`,
			want: `
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
			name: "a Kptfile too",
			items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k, annotations: {config.kubernetes.io/local-config: 'true'}}
`,
			want: `
results:
- message: 'Number of resources pruned: 1'
  severity: info
- message: 'Resource name: [k]'
  severity: info
`,
		},
		{
			name: "empty resources",
			items: `
- {}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a}
`,
			want: `
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
			name: "any functionConfig",
			config: `
apiVersion: example.com/v1
kind: Frog
`,
			items: `
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a}
`,
			want: `
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
			name: "no items",
			want: `
results:
- message: Found no resources to prune with the local config annotation
  severity: warning
`,
		},
	}
	evaluateAll(t, "remove-local-config-resources", cases)
	evaluateTwice(t, "remove-local-config-resources", cases)
}

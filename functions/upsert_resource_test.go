// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import "testing"

func TestUpsertResource(t *testing.T) {
	t.Parallel()
	cases := []evaluation{
		{
			name: "replaced, in another version, where it was",
			config: `
apiVersion: example.com/v2
kind: Frog
metadata:
  name: f
spec: {colour: 'red'} # new
`,
			items: `
- apiVersion: example.com/v1
  kind: Frog
  metadata:
    name: f # old
    labels: {a: b}
    annotations:
      old: gone
      internal.config.kubernetes.io/path: 'f.yaml'
      internal.config.kubernetes.io/index: '3'
      config.kubernetes.io/path: 'f.yaml'
  spec: {colour: green}
- {apiVersion: other.com/v1, kind: Frog, metadata: {name: f}}
- {apiVersion: example.com/v1, kind: Toad, metadata: {name: f}}
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: g}}
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: f, namespace: default}}
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: f, annotations: {config.kubernetes.io/function: x}}}
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: f, annotations: {config.k8s.io/function: x}}}
`,
			want: `
items:
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: f, annotations: {config.kubernetes.io/function: x}}}
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: f, annotations: {config.k8s.io/function: x}}}
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: g}}
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: f, namespace: default}}
- {apiVersion: example.com/v1, kind: Toad, metadata: {name: f}}
- apiVersion: example.com/v2
  kind: Frog
  metadata:
    name: f
    annotations:
      config.kubernetes.io/path: f.yaml
      internal.config.kubernetes.io/index: "3"
      internal.config.kubernetes.io/path: f.yaml
  spec: {colour: 'red'} # new
- {apiVersion: other.com/v1, kind: Frog, metadata: {name: f}}
`,
		},
		{
			name: "its own annotations, of which those for the function go",
			config: `
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  annotations:
    z: 'z' # kept
    config.kubernetes.io/local-config: "true"
    config.kubernetes.io/function: x
    config.k8s.io/function: x
    internal.config.kubernetes.io/path: config.yaml
    config.kubernetes.io/index: '7'
    b: b
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {internal.config.kubernetes.io/path: a.yaml, internal.config.kubernetes.io/index: '1'}}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a
    annotations:
      b: b
      config.kubernetes.io/local-config: "true"
      internal.config.kubernetes.io/index: "1"
      internal.config.kubernetes.io/path: a.yaml
      z: 'z' # kept
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a
    annotations:
      b: b
      config.kubernetes.io/local-config: "true"
      z: 'z' # kept
`,
		},
		{
			name: "as kpt gives them",
			config: `
apiVersion: example.com/v2
kind: Frog
metadata:
  name: f
  annotations:
    internal.config.kubernetes.io/path: 'config.yaml'
    internal.config.kubernetes.io/package-path: '/p'
    internal.config.kubernetes.io/id: '9'
    config.k8s.io/id: '9'
    internal.kpt.dev/upstream-identifier: 'example.com|Frog|default|f'
spec: {colour: 'red'} # new
`,
			items: `
- apiVersion: example.com/v1
  kind: Frog
  metadata:
    name: f
    annotations:
      internal.config.kubernetes.io/path: 'f.yaml'
      internal.config.kubernetes.io/package-path: '/p/sub'
      internal.config.kubernetes.io/seqindent: 'wide'
      internal.config.kubernetes.io/id: '1'
      config.k8s.io/id: '1'
`,
			want: `
items:
- apiVersion: example.com/v2
  kind: Frog
  metadata:
    name: f
    annotations:
      internal.config.kubernetes.io/package-path: /p/sub
      internal.config.kubernetes.io/path: f.yaml
      internal.config.kubernetes.io/seqindent: wide
      internal.kpt.dev/upstream-identifier: 'example.com|Frog|default|f'
  spec: {colour: 'red'} # new
`,
		},
		{
			name: "added",
			config: `
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  annotations: {internal.config.kubernetes.io/path: config.yaml, internal.config.kubernetes.io/index: '7'}
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {internal.config.kubernetes.io/path: b.yaml}}}
`,
			want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {internal.config.kubernetes.io/path: b.yaml}}}
`,
		},
		{
			name: "added to a file",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {config.kubernetes.io/target-path: dir/a.yaml, config.kubernetes.io/local-config: 'true'}}
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {internal.config.kubernetes.io/path: b.yaml, config.kubernetes.io/path: b.yaml}}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {internal.config.kubernetes.io/path: a.yaml, config.kubernetes.io/path: a.yaml}}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {internal.config.kubernetes.io/path: a.yaml, config.kubernetes.io/path: a.yaml}}}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a, annotations: {config.kubernetes.io/local-config: 'true', config.kubernetes.io/path: dir/a.yaml, internal.config.kubernetes.io/path: dir/a.yaml}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {internal.config.kubernetes.io/path: b.yaml, config.kubernetes.io/path: b.yaml}}}
`,
		},
		{
			name: "added to a file, where no other is known",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {config.kubernetes.io/target-path: dir/a.yaml}}
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
`,
			want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a, annotations: {internal.config.kubernetes.io/path: dir/a.yaml}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
`,
		},
		{
			name: "replaced in one file only, by the old path annotation",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {config.kubernetes.io/target-path: a.yaml}}
data: {new: x}
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {config.kubernetes.io/path: a.yaml}}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {config.kubernetes.io/path: b.yaml}}}
`,
			want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a, annotations: {config.kubernetes.io/path: a.yaml}}
  data: {new: x}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {config.kubernetes.io/path: b.yaml}}}
`,
		},
		{
			name: "a list, of which the last one counts",
			config: `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: &x y}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {x: *x}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {last: z}}
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: y}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {last: z}}
`,
		},
		{
			name: "a list of aliases",
			config: `
apiVersion: v1
kind: List
items:
- &a {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: y}}
- *a
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: y}}
`,
		},
		{
			name: "a list without items",
			config: `
apiVersion: v1
kind: List
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
		},
	}
	evaluateAll(t, "upsert-resource", cases)
	evaluateTwice(t, "upsert-resource", cases)
}

func TestUpsertResourceErrors(t *testing.T) {
	t.Parallel()
	cases := []evaluation{
		{
			name: "no functionConfig",
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to upsert resource: missing Resource metadata'
  severity: error
`,
			err: failed,
		},
		{
			name: "an empty resource in a list",
			config: `
apiVersion: v1
kind: List
items: [{apiVersion: v1, kind: A, metadata: {name: a}}, {}]
`,
			items: `
- {apiVersion: v1, kind: A, metadata: {name: a}, old: 1}
`,
			want: `
items:
- {apiVersion: v1, kind: A, metadata: {name: a}, old: 1}
results:
- message: 'failed to upsert resource: missing Resource metadata'
  severity: error
`,
			err: failed,
		},
		{
			name: "a text in a list",
			config: `
apiVersion: v1
kind: List
items: [a]
`,
			want: `
results:
- message: 'failed to upsert resource: items[0] of the functionConfig is not a map'
  severity: error
`,
			err: failed,
		},
		{
			name: "items that are no list",
			config: `
apiVersion: v1
kind: List
items: {a: b}
`,
			want: `
results:
- message: 'failed to upsert resource: items of the functionConfig is not a list'
  severity: error
`,
			err: failed,
		},
		{
			name: "an empty item",
			config: `
apiVersion: example.com/v2
kind: Frog
metadata:
  name: f
spec: {colour: 'red'} # new
`,
			items: `
- {}
`,
			want: `
items:
- {}
results:
- message: 'failed to upsert resource: missing Resource metadata'
  severity: error
`,
			err: failed,
		},
		{
			name: "annotations that are none",
			config: `
apiVersion: v1
kind: A
metadata: {name: a, annotations: [x]}
`,
			want: `
results:
- message: 'failed to upsert resource: wrong Node Kind for annotations expected: MappingNode was SequenceNode: value: {[x]}'
  severity: error
`,
			err: failed,
		},
	}
	evaluateAll(t, "upsert-resource", cases)
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package upsertresource

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestUpsertResource(t *testing.T) {
	t.Parallel()
	cases := []functiontest.Case{
		{
			Name:   "items without metadata",
			Config: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
			Items:  "- {}\n- {a: b}\n- {metadata: null}\n- {apiVersion: v1, kind: ConfigMap}\n",
			Want: "items:\n- {}\n- {a: b}\n- {metadata: null}\n- {apiVersion: v1, kind: ConfigMap}\n" +
				"- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: c}\n",
		},
		{
			Name: "replaced in place, other version",
			Config: `
apiVersion: example.com/v2
kind: Frog
metadata:
  name: f
spec: {colour: 'red'} # new
`,
			Items: `
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
			Want: `
items:
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
- {apiVersion: example.com/v1, kind: Toad, metadata: {name: f}}
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: g}}
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: f, namespace: default}}
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: f, annotations: {config.kubernetes.io/function: x}}}
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: f, annotations: {config.k8s.io/function: x}}}
`,
		},
		{
			Name: "own annotations without those for the function",
			Config: `
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
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {internal.config.kubernetes.io/path: a.yaml, internal.config.kubernetes.io/index: '1'}}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
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
			Name: "as kpt gives them",
			Config: `
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
			Items: `
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
			Want: `
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
			Name: "added",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  annotations: {internal.config.kubernetes.io/path: config.yaml, internal.config.kubernetes.io/index: '7'}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {internal.config.kubernetes.io/path: b.yaml}}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {internal.config.kubernetes.io/path: b.yaml}}}
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a
`,
		},
		{
			Name: "added to a file",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {config.kubernetes.io/target-path: dir/a.yaml, config.kubernetes.io/local-config: 'true'}}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {internal.config.kubernetes.io/path: b.yaml, config.kubernetes.io/path: b.yaml}}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {internal.config.kubernetes.io/path: a.yaml, config.kubernetes.io/path: a.yaml}}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {internal.config.kubernetes.io/path: b.yaml, config.kubernetes.io/path: b.yaml}}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {internal.config.kubernetes.io/path: a.yaml, config.kubernetes.io/path: a.yaml}}}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a, annotations: {config.kubernetes.io/local-config: 'true', config.kubernetes.io/path: dir/a.yaml, internal.config.kubernetes.io/path: dir/a.yaml}}
`,
		},
		{
			Name: "added with a target path, no other paths",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {config.kubernetes.io/target-path: dir/a.yaml}}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a, annotations: {internal.config.kubernetes.io/path: dir/a.yaml}}
`,
		},
		{
			Name: "replaced in one file only, old path annotation",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {config.kubernetes.io/target-path: a.yaml}}
data: {new: x}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {config.kubernetes.io/path: a.yaml}}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {config.kubernetes.io/path: b.yaml}}}
`,
			Want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a, annotations: {config.kubernetes.io/path: a.yaml}}
  data: {new: x}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {config.kubernetes.io/path: b.yaml}}}
`,
		},
		{
			Name: "a list, the last value wins",
			Config: `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: &x y}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {x: *x}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {last: z}}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: y}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {last: z}}
`,
		},
		{
			Name: "a list of aliases",
			Config: `
apiVersion: v1
kind: List
items:
- &a {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: y}}
- *a
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: y}}
`,
		},
		{
			Name: "a list without items",
			Config: `
apiVersion: v1
kind: List
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
	functiontest.EvaluateTwice(t, Function, cases)
}

func TestUpsertResourceErrors(t *testing.T) {
	t.Parallel()
	cases := []functiontest.Case{
		{
			Name: "no functionConfig",
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to upsert resource: missing Resource metadata'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "an empty resource in a list",
			Config: `
apiVersion: v1
kind: List
items: [{apiVersion: v1, kind: A, metadata: {name: a}}, {}]
`,
			Items: `
- {apiVersion: v1, kind: A, metadata: {name: a}, old: 1}
`,
			Want: `
items:
- {apiVersion: v1, kind: A, metadata: {name: a}, old: 1}
results:
- message: 'failed to upsert resource: missing Resource metadata'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a text in a list",
			Config: `
apiVersion: v1
kind: List
items: [a]
`,
			Want: `
results:
- message: 'failed to upsert resource: items[0] of the functionConfig is not a map'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "items is not a list",
			Config: `
apiVersion: v1
kind: List
items: {a: b}
`,
			Want: `
results:
- message: 'failed to upsert resource: items of the functionConfig is not a list'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "annotations is not a map",
			Config: `
apiVersion: v1
kind: A
metadata: {name: a, annotations: [x]}
`,
			Want: `
results:
- message: 'failed to upsert resource: wrong Node Kind for annotations expected: MappingNode was SequenceNode: value: {[x]}'
  severity: error
`,
			Err: functiontest.Failed,
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
}

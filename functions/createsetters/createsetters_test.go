// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package createsetters

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestCreateSetters(t *testing.T) {
	t.Parallel()
	cases := []functiontest.Case{
		{
			Name: "scalars, the longest value first",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  image: nginx
  tag: 1.7.1
  full: nginx-app
  replicas: 3
  twin: '3'
`,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: my-nginx-app # old
    annotations:
      internal.config.kubernetes.io/path: 'nginx/d.yaml'
      internal.config.kubernetes.io/index: '3'
      config.kubernetes.io/local-config: "true"
      nginx: key
  spec:
    replicas: 3
    template:
      spec:
        containers:
        - image: "nginx:1.7.1" # kept
          args: [run, nginx] # what
          script: |
            nginx
        - {name: side, image: nginx, args: [nginx]}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: my-nginx-app # kpt-set: my-${full}
    annotations:
      internal.config.kubernetes.io/path: 'nginx/d.yaml'
      internal.config.kubernetes.io/index: '3'
      config.kubernetes.io/local-config: "true"
      nginx: key
  spec:
    replicas: 3 # kpt-set: ${replicas}
    template:
      spec:
        containers:
        - image: "nginx:1.7.1" # kpt-set: ${image}:${tag}
          args: # what
          - run
          - nginx # kpt-set: ${image}
          script: |
            nginx
        - {name: side, image: nginx, # kpt-set: ${image}
          args: [nginx, # kpt-set: ${image}
          ]}
results:
- field:
    path: metadata.name
  file:
    path: nginx/d.yaml
  message: 'Added line comment "kpt-set: my-${full}" for field with value "my-nginx-app"'
- field:
    path: spec.replicas
  file:
    path: nginx/d.yaml
  message: 'Added line comment "kpt-set: ${replicas}" for field with value "3"'
- field:
    path: spec.template.spec.containers[0].image
  file:
    path: nginx/d.yaml
  message: 'Added line comment "kpt-set: ${image}:${tag}" for field with value "nginx:1.7.1"'
- field:
    path: spec.template.spec.containers[0].args[1]
  file:
    path: nginx/d.yaml
  message: 'Added line comment "kpt-set: ${image}" for field with value "nginx"'
- field:
    path: spec.template.spec.containers[1].image
  file:
    path: nginx/d.yaml
  message: 'Added line comment "kpt-set: ${image}" for field with value "nginx"'
- field:
    path: spec.template.spec.containers[1].args[0]
  file:
    path: nginx/d.yaml
  message: 'Added line comment "kpt-set: ${image}" for field with value "nginx"'
`,
		},
		{
			Name: "lists, in any order",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  env: '[stage, dev]'
  none: '[]'
  maps: '[{a: b}]'
`,
			Items: `
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: c
    annotations: {config.kubernetes.io/path: c.yaml}
  block: # old
  # head
  - 'dev'
  - stage # its own
  flow: [dev, stage] # old
  more: [dev, stage, prod]
  empty: [] # old
  in: {flow: [stage, dev]}
  maps: [{a: b}]
  nested: [[dev, stage]]
`,
			Want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: c
    annotations: {config.kubernetes.io/path: c.yaml}
  block: # kpt-set: ${env}
  # head
  - 'dev'
  - stage # its own
  flow: # kpt-set: ${env}
  - dev
  - stage
  more: [dev, stage, prod]
  empty: [] # kpt-set: ${none}
  in:
    flow: # kpt-set: ${env}
    - stage
    - dev
  maps: [{a: b}]
  nested: [[dev, stage]]
results:
- field:
    path: block
  file:
    path: c.yaml
  message: 'Added line comment "kpt-set: ${env}" for field with value "[dev stage]"'
- field:
    path: flow
  file:
    path: c.yaml
  message: 'Added line comment "kpt-set: ${env}" for field with value "[dev stage]"'
- field:
    path: empty
  file:
    path: c.yaml
  message: 'Added line comment "kpt-set: ${none}" for field with value "[]"'
- field:
    path: in.flow
  file:
    path: c.yaml
  message: 'Added line comment "kpt-set: ${env}" for field with value "[dev stage]"'
`,
		},
		{
			Name: "a map value is not a setter",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  a: '{k: v}'
  b: x
`,
			Items: `
- {apiVersion: v1, kind: S, metadata: {name: x}}
`,
			Want: `
items:
- {apiVersion: v1, kind: S, metadata: {name: x, # kpt-set: ${b}
}}
results:
- field:
    path: metadata.name
  message: 'Added line comment "kpt-set: ${b}" for field with value "x"'
`,
		},
		{
			Name: "values shared through aliases",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  b: x
`,
			Items: `
- apiVersion: v1
  kind: S
  metadata: {name: s}
  a: &a x
  b: *a
  l: &l [x]
  m: *l
`,
			Want: `
items:
- apiVersion: v1
  kind: S
  metadata: {name: s}
  a: &a x # kpt-set: ${b}
  b: x # kpt-set: ${b}
  l: &l
  - x # kpt-set: ${b}
  m:
  - x # kpt-set: ${b}
results:
- field:
    path: a
  message: 'Added line comment "kpt-set: ${b}" for field with value "x"'
- field:
    path: b
  message: 'Added line comment "kpt-set: ${b}" for field with value "x"'
- field:
    path: l[0]
  message: 'Added line comment "kpt-set: ${b}" for field with value "x"'
- field:
    path: m[0]
  message: 'Added line comment "kpt-set: ${b}" for field with value "x"'
`,
		},
		{
			Name: "another kind of functionConfig",
			Config: `
apiVersion: example.com/v1
kind: Frog
data: {b: x}
`,
			Items: `
- {apiVersion: v1, kind: S, metadata: {name: s}, x: y, y: x}
`,
			Want: `
items:
- {apiVersion: v1, kind: S, metadata: {name: s}, x: y, y: x, # kpt-set: ${b}
}
results:
- field:
    path: "y"
  message: 'Added line comment "kpt-set: ${b}" for field with value "x"'
`,
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
	functiontest.EvaluateTwice(t, Function, cases)
}

func TestCreateSettersErrors(t *testing.T) {
	t.Parallel()
	functiontest.EvaluateAll(t, Function, []functiontest.Case{
		{
			Name: "no functionConfig",
			Items: `
- {apiVersion: v1, kind: S, metadata: {name: s}}
`,
			Want: `
items:
- {apiVersion: v1, kind: S, metadata: {name: s}}
results:
- message: 'failed to create setters: config map cannot be empty'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "no setters",
			Config: `
apiVersion: v1
kind: ConfigMap
`,
			Items: `
- {apiVersion: v1, kind: S, metadata: {name: s}}
`,
			Want: `
items:
- {apiVersion: v1, kind: S, metadata: {name: s}}
results:
- message: 'failed to create setters: config map cannot be empty'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "an empty value",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  a: ''
`,
			Items: `
- {apiVersion: v1, kind: S, metadata: {name: s}}
`,
			Want: `
items:
- {apiVersion: v1, kind: S, metadata: {name: s}}
results:
- message: 'failed to create setters: parsing error'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a value is not YAML",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  a: '[a'
`,
			Items: `
- {apiVersion: v1, kind: S, metadata: {name: s}}
`,
			Want: `
items:
- {apiVersion: v1, kind: S, metadata: {name: s}}
results:
- message: 'failed to create setters: parsing error'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a value is not text",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  a: [a]
`,
			Items: `
- {apiVersion: v1, kind: S, metadata: {name: s}}
`,
			Want: `
items:
- {apiVersion: v1, kind: S, metadata: {name: s}}
results:
- message: 'failed to create setters: data.a of the functionConfig is not a string'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "no match",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  a: b
`,
			Items: `
- {apiVersion: v1, kind: S, metadata: {name: s}}
`,
			Want: `
items:
- {apiVersion: v1, kind: S, metadata: {name: s}}
results:
- message: 'failed to create setters: no matches for the input list of setters'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "no items",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  a: b
`,
			Want: `
results:
- message: 'failed to create setters: no matches for the input list of setters'
  severity: error
`,
			Err: functiontest.Failed,
		},
	})
}

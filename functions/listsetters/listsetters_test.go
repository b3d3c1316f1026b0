// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package listsetters

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestListSetters(t *testing.T) {
	t.Parallel()
	cases := []functiontest.Case{
		{
			Name: "fields",
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: d # kpt-set: ${name}
    annotations: {config.kubernetes.io/local-config: "true"}
  spec:
    replicas: 3 # kpt-set: ${replicas}
    paused: true # kpt-set: ${paused}
    ratio: 0.5 # kpt-set: ${ratio}
    none: null # kpt-set: ${none}
    quoted: '3' # kpt-set: ${replicas}
    # kpt-set: ${head}
    head: x
    other: y #kpt-set: ${other}
    image: nginx:1 # kpt-set: ${image}:${tag}
    unlike: nginx # kpt-set: ${image}:${tag}
    twice: a-a # kpt-set: ${twice}-${twice}
    env: # kpt-set: ${env}
    - stage
    - dev
    flow: [prod, 'dev'] # kpt-set: ${flow}
    empty: [] # kpt-set: ${empty}
    maps: # kpt-set: ${maps}
    - a: b
    mixed: [a] # kpt-set: ${a}-${b}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: d # kpt-set: ${name}
    annotations: {config.kubernetes.io/local-config: "true"}
  spec:
    replicas: 3 # kpt-set: ${replicas}
    paused: true # kpt-set: ${paused}
    ratio: 0.5 # kpt-set: ${ratio}
    none: null # kpt-set: ${none}
    quoted: '3' # kpt-set: ${replicas}
    # kpt-set: ${head}
    head: x
    other: y #kpt-set: ${other}
    image: nginx:1 # kpt-set: ${image}:${tag}
    unlike: nginx # kpt-set: ${image}:${tag}
    twice: a-a # kpt-set: ${twice}-${twice}
    env: # kpt-set: ${env}
    - stage
    - dev
    flow: [prod, 'dev'] # kpt-set: ${flow}
    empty: [] # kpt-set: ${empty}
    maps: # kpt-set: ${maps}
    - a: b
    mixed: [a] # kpt-set: ${a}-${b}
results:
- message: 'Name: empty, Value: [], Type: array, Count: 1'
- message: 'Name: env, Value: [dev, stage], Type: array, Count: 1'
- message: 'Name: flow, Value: [dev, prod], Type: array, Count: 1'
- message: 'Name: image, Value: nginx, Type: str, Count: 1'
- message: 'Name: name, Value: d, Type: str, Count: 1'
- message: 'Name: none, Value: null, Type: null, Count: 1'
- message: 'Name: paused, Value: true, Type: bool, Count: 1'
- message: 'Name: ratio, Value: 0.5, Type: float, Count: 1'
- message: 'Name: replicas, Value: 3, Type: int, Count: 2'
- message: 'Name: tag, Value: 1, Type: str, Count: 1'
- message: 'Name: twice, Value: a, Type: str, Count: 1'
`,
		},
		{
			Name: "values in the Kptfile",
			Items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata:
    name: p
    annotations: {internal.config.kubernetes.io/path: Kptfile, config.kubernetes.io/path: Kptfile}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {other: x}
    - image: apply-setters:v0.2
      configMap: {image: first, tag: '1', env: '[stage, dev]'}
    - image: example.com/apply-setters
      configPath: setters.yaml
    - image: apply-setters
      configPath: missing.yaml
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: setters, annotations: {internal.config.kubernetes.io/path: setters.yaml}}
  data: {image: override, unused: 3}
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: d # kpt-set: ${name}
    annotations: {config.kubernetes.io/local-config: "true"}
  spec:
    replicas: 3 # kpt-set: ${replicas}
    paused: true # kpt-set: ${paused}
    ratio: 0.5 # kpt-set: ${ratio}
    none: null # kpt-set: ${none}
    quoted: '3' # kpt-set: ${replicas}
    # kpt-set: ${head}
    head: x
    other: y #kpt-set: ${other}
    image: nginx:1 # kpt-set: ${image}:${tag}
    unlike: nginx # kpt-set: ${image}:${tag}
    twice: a-a # kpt-set: ${twice}-${twice}
    env: # kpt-set: ${env}
    - stage
    - dev
    flow: [prod, 'dev'] # kpt-set: ${flow}
    empty: [] # kpt-set: ${empty}
    maps: # kpt-set: ${maps}
    - a: b
    mixed: [a] # kpt-set: ${a}-${b}
`,
			Want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata:
    name: p
    annotations: {internal.config.kubernetes.io/path: Kptfile, config.kubernetes.io/path: Kptfile}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {other: x}
    - image: apply-setters:v0.2
      configMap: {image: first, tag: '1', env: '[stage, dev]'}
    - image: example.com/apply-setters
      configPath: setters.yaml
    - image: apply-setters
      configPath: missing.yaml
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: setters, annotations: {internal.config.kubernetes.io/path: setters.yaml}}
  data: {image: override, unused: 3}
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: d # kpt-set: ${name}
    annotations: {config.kubernetes.io/local-config: "true"}
  spec:
    replicas: 3 # kpt-set: ${replicas}
    paused: true # kpt-set: ${paused}
    ratio: 0.5 # kpt-set: ${ratio}
    none: null # kpt-set: ${none}
    quoted: '3' # kpt-set: ${replicas}
    # kpt-set: ${head}
    head: x
    other: y #kpt-set: ${other}
    image: nginx:1 # kpt-set: ${image}:${tag}
    unlike: nginx # kpt-set: ${image}:${tag}
    twice: a-a # kpt-set: ${twice}-${twice}
    env: # kpt-set: ${env}
    - stage
    - dev
    flow: [prod, 'dev'] # kpt-set: ${flow}
    empty: [] # kpt-set: ${empty}
    maps: # kpt-set: ${maps}
    - a: b
    mixed: [a] # kpt-set: ${a}-${b}
results:
- message: 'Name: empty, Value: [], Type: array, Count: 1'
- message: 'Name: env, Value: [dev, stage], Type: array, Count: 1'
- message: 'Name: flow, Value: [dev, prod], Type: array, Count: 1'
- message: 'Name: image, Value: override, Type: str, Count: 1'
- message: 'Name: name, Value: d, Type: str, Count: 1'
- message: 'Name: none, Value: null, Type: null, Count: 1'
- message: 'Name: paused, Value: true, Type: bool, Count: 1'
- message: 'Name: ratio, Value: 0.5, Type: float, Count: 1'
- message: 'Name: replicas, Value: 3, Type: int, Count: 2'
- message: 'Name: tag, Value: 1, Type: str, Count: 1'
- message: 'Name: twice, Value: a, Type: str, Count: 1'
- message: 'Name: unused, Value: 3, Type: str, Count: 0'
`,
		},
		{
			Name: "the first value stays",
			Items: `
- apiVersion: v1
  kind: S
  metadata: {name: s}
  a: &x one # kpt-set: ${x}
  b: two # kpt-set: ${x}
  c: *x # kpt-set: ${x}
`,
			Want: `
items:
- apiVersion: v1
  kind: S
  metadata: {name: s}
  a: &x one # kpt-set: ${x}
  b: two # kpt-set: ${x}
  c: one # kpt-set: ${x}
results:
- message: 'Name: x, Value: one, Type: str, Count: 3'
`,
		},
		{
			Name: "a Kptfile of a former version",
			Items: `
- apiVersion: kpt.dev/v1alpha2
  kind: Kptfile
  metadata:
    name: p
    annotations: {internal.config.kubernetes.io/path: Kptfile, config.kubernetes.io/path: Kptfile}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {other: x}
    - image: apply-setters:v0.2
      configMap: {image: first, tag: '1', env: '[stage, dev]'}
    - image: example.com/apply-setters
      configPath: setters.yaml
    - image: apply-setters
      configPath: missing.yaml
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: setters, annotations: {internal.config.kubernetes.io/path: setters.yaml}}
  data: {image: override, unused: 3}
`,
			Want: `
items:
- apiVersion: kpt.dev/v1alpha2
  kind: Kptfile
  metadata:
    name: p
    annotations: {internal.config.kubernetes.io/path: Kptfile, config.kubernetes.io/path: Kptfile}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {other: x}
    - image: apply-setters:v0.2
      configMap: {image: first, tag: '1', env: '[stage, dev]'}
    - image: example.com/apply-setters
      configPath: setters.yaml
    - image: apply-setters
      configPath: missing.yaml
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: setters, annotations: {internal.config.kubernetes.io/path: setters.yaml}}
  data: {image: override, unused: 3}
results:
- message: no setters found
  severity: warning
`,
		},
		{
			Name: "a Kptfile without a pipeline",
			Items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata:
    name: p
    annotations: {internal.config.kubernetes.io/path: Kptfile, config.kubernetes.io/path: Kptfile}
`,
			Want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata:
    name: p
    annotations: {internal.config.kubernetes.io/path: Kptfile, config.kubernetes.io/path: Kptfile}
results:
- message: no setters found
  severity: warning
`,
		},
		{
			Name: "a Kptfile of a sub-package",
			Items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata:
    name: p
    annotations: {internal.config.kubernetes.io/path: sub/Kptfile, config.kubernetes.io/path: Kptfile}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {other: x}
    - image: apply-setters:v0.2
      configMap: {image: first, tag: '1', env: '[stage, dev]'}
    - image: example.com/apply-setters
      configPath: setters.yaml
    - image: apply-setters
      configPath: missing.yaml
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: setters, annotations: {internal.config.kubernetes.io/path: setters.yaml}}
  data: {image: override, unused: 3}
`,
			Want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata:
    name: p
    annotations: {internal.config.kubernetes.io/path: sub/Kptfile, config.kubernetes.io/path: Kptfile}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {other: x}
    - image: apply-setters:v0.2
      configMap: {image: first, tag: '1', env: '[stage, dev]'}
    - image: example.com/apply-setters
      configPath: setters.yaml
    - image: apply-setters
      configPath: missing.yaml
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: setters, annotations: {internal.config.kubernetes.io/path: setters.yaml}}
  data: {image: override, unused: 3}
results:
- message: no setters found
  severity: warning
`,
		},
		{
			Name: "no setters",
			Items: `
- {apiVersion: v1, kind: S, metadata: {name: s}}
`,
			Want: `
items:
- {apiVersion: v1, kind: S, metadata: {name: s}}
results:
- message: no setters found
  severity: warning
`,
		},
		{
			Name: "any functionConfig",
			Config: `
apiVersion: v1
kind: ConfigMap
data: {a: b}
`,
			Want: `
results:
- message: no setters found
  severity: warning
`,
		},
		{
			Name: "no items",
			Want: `
results:
- message: no setters found
  severity: warning
`,
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
	functiontest.EvaluateTwice(t, Function, cases)
}

func TestListSettersErrors(t *testing.T) {
	t.Parallel()
	functiontest.EvaluateAll(t, Function, []functiontest.Case{
		{
			Name: "an unknown field in the Kptfile",
			Items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata:
    name: p
    annotations: {internal.config.kubernetes.io/path: Kptfile, config.kubernetes.io/path: Kptfile}
  foo: bar
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {other: x}
    - image: apply-setters:v0.2
      configMap: {image: first, tag: '1', env: '[stage, dev]'}
    - image: example.com/apply-setters
      configPath: setters.yaml
    - image: apply-setters
      configPath: missing.yaml
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: setters, annotations: {internal.config.kubernetes.io/path: setters.yaml}}
  data: {image: override, unused: 3}
`,
			Want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata:
    name: p
    annotations: {internal.config.kubernetes.io/path: Kptfile, config.kubernetes.io/path: Kptfile}
  foo: bar
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {other: x}
    - image: apply-setters:v0.2
      configMap: {image: first, tag: '1', env: '[stage, dev]'}
    - image: example.com/apply-setters
      configPath: setters.yaml
    - image: apply-setters
      configPath: missing.yaml
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: setters, annotations: {internal.config.kubernetes.io/path: setters.yaml}}
  data: {image: override, unused: 3}
results:
- message: |-
    failed to list setters: unable to read Kptfile: invalid 'v1' Kptfile: yaml: unmarshal errors:
      line 6: field foo not found in type v1.KptFile
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "an invalid Kptfile",
			Items: `
- apiVersion: v1
  kind: Secret
  metadata:
    name: p
    annotations: {internal.config.kubernetes.io/path: Kptfile, config.kubernetes.io/path: Kptfile}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {other: x}
    - image: apply-setters:v0.2
      configMap: {image: first, tag: '1', env: '[stage, dev]'}
    - image: example.com/apply-setters
      configPath: setters.yaml
    - image: apply-setters
      configPath: missing.yaml
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: setters, annotations: {internal.config.kubernetes.io/path: setters.yaml}}
  data: {image: override, unused: 3}
`,
			Want: `
items:
- apiVersion: v1
  kind: Secret
  metadata:
    name: p
    annotations: {internal.config.kubernetes.io/path: Kptfile, config.kubernetes.io/path: Kptfile}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {other: x}
    - image: apply-setters:v0.2
      configMap: {image: first, tag: '1', env: '[stage, dev]'}
    - image: example.com/apply-setters
      configPath: setters.yaml
    - image: apply-setters
      configPath: missing.yaml
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: setters, annotations: {internal.config.kubernetes.io/path: setters.yaml}}
  data: {image: override, unused: 3}
results:
- message: 'failed to list setters: unable to read Kptfile: invalid ''v1'' Kptfile: unknown resource type "v1, Kind=Secret" found in Kptfile'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "values are not strings",
			Items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata:
    name: p
    annotations: {internal.config.kubernetes.io/path: Kptfile, config.kubernetes.io/path: Kptfile}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {other: x}
    - image: apply-setters:v0.2
      configMap: {image: first, tag: '1', env: '[stage, dev]'}
    - image: example.com/apply-setters
      configPath: setters.yaml
    - image: apply-setters
      configPath: missing.yaml
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: setters, annotations: {internal.config.kubernetes.io/path: setters.yaml}}
  data: {image: override, unused: [3]}
`,
			Want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata:
    name: p
    annotations: {internal.config.kubernetes.io/path: Kptfile, config.kubernetes.io/path: Kptfile}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {other: x}
    - image: apply-setters:v0.2
      configMap: {image: first, tag: '1', env: '[stage, dev]'}
    - image: example.com/apply-setters
      configPath: setters.yaml
    - image: apply-setters
      configPath: missing.yaml
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: setters, annotations: {internal.config.kubernetes.io/path: setters.yaml}}
  data: {image: override, unused: [3]}
results:
- message: 'failed to list setters: read the values of setters in setters.yaml: data.unused of the functionConfig is not a string'
  severity: error
`,
			Err: functiontest.Failed,
		},
	})
}

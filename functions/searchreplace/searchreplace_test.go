// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package searchreplace

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestSearchReplace(t *testing.T) {
	t.Parallel()
	cases := []functiontest.Case{
		{
			Name: "by value, searched only",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-value: nginx
`,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: nginx # the name
    annotations:
      internal.config.kubernetes.io/path: 'dir/d.yaml'
      internal.config.kubernetes.io/index: '3'
      config.kubernetes.io/local-config: "true"
  spec:
    replicas: 3 # how many
    envs: [dev, stage] # where
    ports: []
    template:
      spec:
        containers:
        - name: nginx
          image: "nginx:1.7.1" # kept
        - {name: side, image: nginx:1.7.1}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: nginx # the name
    annotations:
      internal.config.kubernetes.io/path: 'dir/d.yaml'
      internal.config.kubernetes.io/index: '3'
      config.kubernetes.io/local-config: "true"
  spec:
    replicas: 3 # how many
    envs: [dev, stage] # where
    ports: []
    template:
      spec:
        containers:
        - name: nginx
          image: "nginx:1.7.1" # kept
        - {name: side, image: 'nginx:1.7.1'}
results:
- field:
    path: metadata.name
  file:
    path: dir/d.yaml
  message: 'Matched field value "nginx # the name"'
- field:
    path: spec.template.spec.containers[0].name
  file:
    path: dir/d.yaml
  message: Matched field value "nginx"
`,
		},
		{
			Name: "kpt's annotations are not searched",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-value: 3
  put-value: 4
`,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: nginx # the name
    annotations:
      internal.config.kubernetes.io/path: 'dir/d.yaml'
      internal.config.kubernetes.io/index: '3'
      config.kubernetes.io/local-config: "true"
  spec:
    replicas: 3 # how many
    envs: [dev, stage] # where
    ports: []
    template:
      spec:
        containers:
        - name: nginx
          image: "nginx:1.7.1" # kept
        - {name: side, image: nginx:1.7.1}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: nginx # the name
    annotations:
      internal.config.kubernetes.io/path: 'dir/d.yaml'
      internal.config.kubernetes.io/index: '3'
      config.kubernetes.io/local-config: "true"
  spec:
    replicas: 4 # how many
    envs: [dev, stage] # where
    ports: []
    template:
      spec:
        containers:
        - name: nginx
          image: "nginx:1.7.1" # kept
        - {name: side, image: 'nginx:1.7.1'}
results:
- field:
    path: spec.replicas
  file:
    path: dir/d.yaml
  message: 'Mutated field value to "4 # how many"'
`,
		},
		{
			Name: "by regex, with groups in value and comment",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-value-regex: '^(nginx):(.*)$'
  put-value: 'ubuntu:${2}'
  put-comment: 'kpt-set: ${1}-${2}'
`,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: nginx # the name
    annotations:
      internal.config.kubernetes.io/path: 'dir/d.yaml'
      internal.config.kubernetes.io/index: '3'
      config.kubernetes.io/local-config: "true"
  spec:
    replicas: 3 # how many
    envs: [dev, stage] # where
    ports: []
    template:
      spec:
        containers:
        - name: nginx
          image: "nginx:1.7.1" # kept
        - {name: side, image: nginx:1.7.1}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: nginx # the name
    annotations:
      internal.config.kubernetes.io/path: 'dir/d.yaml'
      internal.config.kubernetes.io/index: '3'
      config.kubernetes.io/local-config: "true"
  spec:
    replicas: 3 # how many
    envs: [dev, stage] # where
    ports: []
    template:
      spec:
        containers:
        - name: nginx
          image: "ubuntu:1.7.1" # kpt-set: nginx-1.7.1
        - {name: side, image: 'ubuntu:1.7.1', # kpt-set: nginx-1.7.1
}
results:
- field:
    path: spec.template.spec.containers[0].image
  file:
    path: dir/d.yaml
  message: 'Mutated field value to "\"ubuntu:1.7.1\" # kpt-set: nginx-1.7.1"'
- field:
    path: spec.template.spec.containers[1].image
  file:
    path: dir/d.yaml
  message: 'Mutated field value to "ubuntu:1.7.1 # kpt-set: nginx-1.7.1"'
`,
		},
		{
			Name: "by path, with wildcards",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-path: spec.**.containers[*].name
  put-value: 5
`,
			Items: `
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, annotations: {config.kubernetes.io/path: c.yaml}}
  spec:
    replicas: 3 # how many
    envs: [dev, stage] # where
    containers: [{name: main}, {name: side}]
`,
			Want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, annotations: {config.kubernetes.io/path: c.yaml}}
  spec:
    replicas: 3 # how many
    envs: [dev, stage] # where
    containers: [{name: 5}, {name: 5}]
results:
- field:
    path: spec.containers[0].name
  file:
    path: c.yaml
  message: Mutated field value to "5"
- field:
    path: spec.containers[1].name
  file:
    path: c.yaml
  message: Mutated field value to "5"
`,
		},
		{
			Name: "by path and value",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-path: '**.containers[1].*'
  by-value: side
  put-value: ''
`,
			Items: `
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, annotations: {config.kubernetes.io/path: c.yaml}}
  spec:
    replicas: 3 # how many
    envs: [dev, stage] # where
    containers: [{name: main}, {name: side}]
`,
			Want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, annotations: {config.kubernetes.io/path: c.yaml}}
  spec:
    replicas: 3 # how many
    envs: [dev, stage] # where
    containers: [{name: main}, {name: side}]
results:
- field:
    path: spec.containers[1].name
  file:
    path: c.yaml
  message: Matched field value "side"
`,
		},
		{
			Name: "a star does not match list elements",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-path: 'spec.*'
`,
			Items: `
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, annotations: {config.kubernetes.io/path: c.yaml}}
  spec:
    replicas: 3 # how many
    envs: [dev, stage] # where
    containers: [{name: main}, {name: side}]
`,
			Want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, annotations: {config.kubernetes.io/path: c.yaml}}
  spec:
    replicas: 3 # how many
    envs: [dev, stage] # where
    containers: [{name: main}, {name: side}]
results:
- field:
    path: spec.replicas
  file:
    path: c.yaml
  message: 'Matched field value "3 # how many"'
`,
		},
		{
			Name: "a comment on lists",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-path: spec.*
  put-comment: 'kpt-set: ${x}'
`,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: nginx # the name
    annotations:
      internal.config.kubernetes.io/path: 'dir/d.yaml'
      internal.config.kubernetes.io/index: '3'
      config.kubernetes.io/local-config: "true"
  spec:
    replicas: 3 # how many
    envs: [dev, stage] # where
    ports: []
    template:
      spec:
        containers:
        - name: nginx
          image: "nginx:1.7.1" # kept
        - {name: side, image: nginx:1.7.1}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: nginx # the name
    annotations:
      internal.config.kubernetes.io/path: 'dir/d.yaml'
      internal.config.kubernetes.io/index: '3'
      config.kubernetes.io/local-config: "true"
  spec:
    replicas: 3 # kpt-set: ${x}
    envs: # kpt-set: ${x}
    - dev
    - stage
    ports: [] # kpt-set: ${x}
    template:
      spec:
        containers:
        - name: nginx
          image: "nginx:1.7.1" # kept
        - {name: side, image: 'nginx:1.7.1'}
results:
- field:
    path: 'spec.envs # kpt-set: ${x}'
  file:
    path: dir/d.yaml
  message: Mutated field value to "[dev, stage]"
- field:
    path: 'spec.ports # kpt-set: ${x}'
  file:
    path: dir/d.yaml
  message: Mutated field value to "[]"
- field:
    path: spec.replicas
  file:
    path: dir/d.yaml
  message: 'Mutated field value to "3 # kpt-set: ${x}"'
`,
		},
		{
			Name: "a comment on elements of a list",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-path: 'spec.*[1]'
  put-comment: 'kpt-set: ${1}'
`,
			Items: `
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, annotations: {config.kubernetes.io/path: c.yaml}}
  spec:
    replicas: 3 # how many
    envs: [dev, stage] # where
    containers: [{name: main}, {name: side}]
`,
			Want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, annotations: {config.kubernetes.io/path: c.yaml}}
  spec:
    replicas: 3 # how many
    envs: [dev, stage, # kpt-set: ${1}
    ] # where
    containers: [{name: main}, {name: side}]
results:
- field:
    path: spec.envs[1]
  file:
    path: c.yaml
  message: 'Mutated field value to "stage # kpt-set: ${1}"'
`,
		},
		{
			Name: "an absolute path creates the field and its parents",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-path: metadata.labels.n
  put-value: 5
`,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: nginx # the name
    annotations:
      internal.config.kubernetes.io/path: 'dir/d.yaml'
      internal.config.kubernetes.io/index: '3'
      config.kubernetes.io/local-config: "true"
  spec:
    replicas: 3 # how many
    envs: [dev, stage] # where
    ports: []
    template:
      spec:
        containers:
        - name: nginx
          image: "nginx:1.7.1" # kept
        - {name: side, image: nginx:1.7.1}
- apiVersion: v1
  kind: Service
  metadata:
    name: s
    labels: {n: "3"} # quoted
- apiVersion: v1
  kind: Service
  metadata:
    name: t
    labels:
      n: 4 # plain
- apiVersion: v1
  kind: Service
  metadata: {name: u, labels: null}
- apiVersion: v1
  kind: Service
  metadata:
    name: v
    labels: null # none
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: nginx # the name
    annotations:
      internal.config.kubernetes.io/path: 'dir/d.yaml'
      internal.config.kubernetes.io/index: '3'
      config.kubernetes.io/local-config: "true"
    labels:
      "n": 5
  spec:
    replicas: 3 # how many
    envs: [dev, stage] # where
    ports: []
    template:
      spec:
        containers:
        - name: nginx
          image: "nginx:1.7.1" # kept
        - {name: side, image: 'nginx:1.7.1'}
- apiVersion: v1
  kind: Service
  metadata:
    name: s
    labels: {n: "5"} # quoted
- apiVersion: v1
  kind: Service
  metadata:
    name: t
    labels:
      n: 5 # plain
- apiVersion: v1
  kind: Service
  metadata: {name: u, labels: {"n": 5}}
- apiVersion: v1
  kind: Service
  metadata:
    name: v
    labels: # none
      "n": 5
results:
- field:
    path: metadata.labels.n
  file:
    path: dir/d.yaml
  message: Mutated field value to "5"
- field:
    path: metadata.labels.n
  message: Mutated field value to "5"
- field:
    path: metadata.labels.n
  message: Mutated field value to "5"
- field:
    path: metadata.labels.n
  message: Mutated field value to "5"
- field:
    path: metadata.labels.n
  message: Mutated field value to "5"
`,
		},
		{
			Name: "an absolute path to a map",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-path: spec
  put-value: on
`,
			Items: `
- {apiVersion: v1, kind: S, metadata: {name: s}, spec: {a: b}} # c
`,
			Want: `
items:
- {apiVersion: v1, kind: S, metadata: {name: s}, spec: on} # c
results:
- field:
    path: spec
  message: Mutated field value to "on"
`,
		},
		{
			Name: "an absolute path with a comment only",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-path: spec.replicas
  put-comment: 'kpt-set: ${r}'
`,
			Items: `
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, annotations: {config.kubernetes.io/path: c.yaml}}
  spec:
    replicas: 3 # how many
    envs: [dev, stage] # where
    containers: [{name: main}, {name: side}]
`,
			Want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, annotations: {config.kubernetes.io/path: c.yaml}}
  spec:
    replicas: 3 # kpt-set: ${r}
    envs: [dev, stage] # where
    containers: [{name: main}, {name: side}]
results:
- field:
    path: spec.replicas
  file:
    path: c.yaml
  message: 'Mutated field value to "3 # kpt-set: ${r}"'
`,
		},
		{
			Name: "by file path",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-value: x
  by-file-path: '**/{a,b}?.yaml'
  put-value: y
`,
			Items: `
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a, annotations: {config.kubernetes.io/path: a1.yaml}}
  data: {k: x}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: b, annotations: {internal.config.kubernetes.io/path: d/e/b1.yaml, config.kubernetes.io/path: d/e/b1.yaml}}
  data: {k: x}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, annotations: {internal.config.kubernetes.io/path: d/c1.yaml}}
  data: {k: x}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: d, annotations: {}}
  data: {k: x}
`,
			Want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a, annotations: {config.kubernetes.io/path: a1.yaml}}
  data: {k: y}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: b, annotations: {internal.config.kubernetes.io/path: d/e/b1.yaml, config.kubernetes.io/path: d/e/b1.yaml}}
  data: {k: y}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, annotations: {internal.config.kubernetes.io/path: d/c1.yaml}}
  data: {k: x}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: d, annotations: {}}
  data: {k: x}
results:
- field:
    path: data.k
  file:
    path: a1.yaml
  message: Mutated field value to "y"
- field:
    path: data.k
  file:
    path: d/e/b1.yaml
  message: Mutated field value to "y"
`,
		},
		{
			Name: "without a path",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-value: x
  put-value: y
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x, b: 'x', c: [x, [x]]}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: y, b: 'y', c: [y, [y]]}}
results:
- field:
    path: data.a
  message: Mutated field value to "y"
- field:
    path: data.b
  message: Mutated field value to "'y'"
- field:
    path: data.c[0]
  message: Mutated field value to "y"
- field:
    path: data.c[1][0]
  message: Mutated field value to "y"
`,
		},
		{
			Name: "an unmatched group is an empty string",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-value-regex: '^x(y?)$'
  put-value: '${1}'
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: ""}}
results:
- field:
    path: data.a
  message: Mutated field value to "\"\""
`,
		},
		{
			Name: "values are quoted if needed",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-value: x
  put-value: "a: b # c\nd"
  put-comment: "one\ntwo"
`,
			Items: `
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c}
  data:
    a: x
    b: |
      x
    c: 'x'
`,
			Want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c}
  data:
    a: |- # one
      # two
      a: b # c
      d
    b: |
      x
    c: 'a: b # c

      d' # one
    # two
results:
- field:
    path: data.a
  message: 'Mutated field value to "|- # one\n  # two\n  a: b # c\n  d"'
- field:
    path: data.c
  message: 'Mutated field value to "''a: b # c\n\n  d'' # one\n\n# two"'
`,
		},
		{
			Name: "values shared through aliases are separated",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-path: data.b
  put-value: y
`,
			Items: `
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c}
  data:
    a: &x x
    b: *x
    c: *x
`,
			Want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c}
  data:
    a: &x x
    b: y
    c: *x
results:
- field:
    path: data.b
  message: Mutated field value to "y"
`,
		},
		{
			Name: "a value to put without a search matches nothing",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  put-value: y
`,
			Items: `
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, annotations: {config.kubernetes.io/path: c.yaml}}
  spec:
    replicas: 3 # how many
    envs: [dev, stage] # where
    containers: [{name: main}, {name: side}]
`,
			Want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, annotations: {config.kubernetes.io/path: c.yaml}}
  spec:
    replicas: 3 # how many
    envs: [dev, stage] # where
    containers: [{name: main}, {name: side}]
results:
- message: no matches
`,
		},
		{
			Name: "no functionConfig",
			Items: `
- {apiVersion: v1, kind: S, metadata: {name: s}}
`,
			Want: `
items:
- {apiVersion: v1, kind: S, metadata: {name: s}}
results:
- message: no matches
`,
		},
		{
			Name: "another kind of functionConfig",
			Config: `
apiVersion: example.com/v1
kind: Frog
data: {by-value: s}
`,
			Items: `
- {apiVersion: v1, kind: S, metadata: {name: s}}
`,
			Want: `
items:
- {apiVersion: v1, kind: S, metadata: {name: s}}
results:
- field:
    path: metadata.name
  message: Matched field value "s"
`,
		},
		{
			Name: "no items",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-value: x
`,
			Want: `
results:
- message: no matches
`,
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
	functiontest.EvaluateTwice(t, Function, cases)
}

func TestSearchReplaceErrors(t *testing.T) {
	t.Parallel()
	functiontest.EvaluateAll(t, Function, []functiontest.Case{
		{
			Name: "an unknown matcher",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-foo: x
`,
			Want: `
results:
- message: 'failed to perform search-replace operation: "invalid matcher \"by-foo\", must be one of [\"by-value\" \"by-file-path\" \"by-value-regex\" \"by-path\" \"put-value\" \"put-comment\"]"'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "two value matchers",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-value: x
  by-value-regex: x
`,
			Want: `
results:
- message: 'failed to perform search-replace operation: "only one of [\"by-value\" \"by-value-regex\"] can be provided"'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "no regular expression",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-value-regex: '('
`,
			Want: `
results:
- message: 'failed to perform search-replace operation: "error parsing regexp: missing closing ): ` + "`" + `(` + "`" + `"'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "not a glob",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-value: x
  by-file-path: '[a'
`,
			Want: `
results:
- message: 'failed to perform search-replace operation: "syntax error in pattern"'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "an unclosed brace",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-value: x
  by-file-path: '{a'
`,
			Want: `
results:
- message: 'failed to perform search-replace operation: "syntax error in pattern"'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a missing group",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-value-regex: '(x)'
  put-value: '${2}'
`,
			Items: `
- {apiVersion: v1, kind: S, metadata: {name: x}}
`,
			Want: `
items:
- {apiVersion: v1, kind: S, metadata: {name: x}}
results:
- message: 'failed to perform search-replace operation: "unable to resolve capture groups"'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a missing group in a comment",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-value-regex: '(x)'
  put-comment: '${0}'
`,
			Items: `
- {apiVersion: v1, kind: S, metadata: {name: x}}
`,
			Want: `
items:
- {apiVersion: v1, kind: S, metadata: {name: x}}
results:
- message: 'failed to perform search-replace operation: "unable to resolve capture groups"'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "an absolute path through a value that is not a map",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-path: metadata.name.first
  put-value: x
`,
			Items: `
- apiVersion: v1
  kind: S
  metadata:
    name: p # c
`,
			Want: `
items:
- apiVersion: v1
  kind: S
  metadata:
    name: p # c
results:
- message: 'failed to perform search-replace operation: "wrong Node Kind for metadata.name expected: MappingNode was ScalarNode: value: {p # c}"'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "data is not text",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  by-value: [x]
`,
			Want: `
results:
- message: 'failed to perform search-replace operation: "data.by-value of the functionConfig is not a string"'
  severity: error
`,
			Err: functiontest.Failed,
		},
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !light

package validatecel

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestValidateCEL(t *testing.T) {
	t.Parallel()
	cases := []functiontest.Case{
		{
			Name: "all expressions are true",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
validations:
- expression: object.metadata.name == 'web'
- expression: has(object.spec)
`,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
- {apiVersion: v1, kind: Service, metadata: {name: web, labels: {tier: back}}, spec: {ports: [{port: 80}]}}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
- {apiVersion: v1, kind: Service, metadata: {name: web, labels: {tier: back}}, spec: {ports: [{port: 80}]}}
`,
		},
		{
			Name: "warnings and infos",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
validations:
- {expression: 'false', message: beware, severity: warning, target: {kind: Service}}
- {expression: 'false', message: by the way, severity: info, target: {kind: Service}}
`,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
- {apiVersion: v1, kind: Service, metadata: {name: web, labels: {tier: back}}, spec: {ports: [{port: 80}]}}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
- {apiVersion: v1, kind: Service, metadata: {name: web, labels: {tier: back}}, spec: {ports: [{port: 80}]}}
results:
- message: beware
  resourceRef:
    name: web
    apiVersion: v1
    kind: Service
  severity: warning
- message: by the way
  resourceRef:
    name: web
    apiVersion: v1
    kind: Service
  severity: info
`,
		},
		{
			Name: "values and their types",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
validations:
- expression: object.spec.replicas % 2 == 1 && object.spec.replicas == 3.0 && object.spec.ratio < 1 && object.spec.paused == true
- expression: type(object.spec.replicas) == int && type(object.spec.ratio) == double
- expression: object.?spec.?nope.orValue('x') == 'x' && !has(object.spec.nope)
- expression: resources.size() == 1 && resources[0] == object && resources.exists_one(r, r.kind == 'Deployment')
`,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
`,
		},
		{
			Name: "libraries",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
validations:
- expression: "'a,b'.split(',') == ['a', 'b'] && 'x'.upperAscii() == 'X' && ['a'].join('-') == 'a' && '%s-%d'.format(['a', 1]) == 'a-1'"
- expression: "[3, 1].sort() == [1, 3] && [1, 1].distinct() == [1] && [[1]].flatten() == [1] && lists.range(2) == [0, 1]"
- expression: "sets.contains([1, 2], [1]) && sets.equivalent([1], [1, 1]) && sets.intersects([1], [1])"
- expression: "math.greatest(1, 2) == 2 && math.abs(-1) == 1"
- expression: "'abc'.replace('b', 'x') == 'axc' && 'abc'.indexOf('c') == 2 && 'abca'.lastIndexOf('a') == 3 && 'abc'.replace('', '-', 1) == '-abc'"
- expression: "'1.2.3'.matches('^[0-9.]+$') && timestamp('2024-01-01T00:00:00Z').getHours() == 0"
`,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
`,
		},
		{
			Name: "a ConfigMap",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  a-name: size(object.metadata.name) < 63
  kind: 'true'
`,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
- {apiVersion: v1, kind: Service, metadata: {name: web, labels: {tier: back}}, spec: {ports: [{port: 80}]}}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
- {apiVersion: v1, kind: Service, metadata: {name: web, labels: {tier: back}}, spec: {ports: [{port: 80}]}}
`,
		},
		{
			Name: "variables",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
variables:
- {name: containers, expression: object.spec.template.spec.containers}
- {name: images, expression: 'variables.containers.map(c, c.image)'}
validations:
- expression: size(variables.images) == 2 && variables.images[0] == 'nginx:1'
  target: {kind: Deployment}
`,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
- {apiVersion: v1, kind: Service, metadata: {name: web, labels: {tier: back}}, spec: {ports: [{port: 80}]}}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
- {apiVersion: v1, kind: Service, metadata: {name: web, labels: {tier: back}}, spec: {ports: [{port: 80}]}}
`,
		},
		{
			Name: "targets",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
validations:
- {expression: 'false', severity: info, message: kind, target: {kind: Service}}
- {expression: 'false', severity: info, message: apiVersion, target: {apiVersion: apps/v1}}
- {expression: 'false', severity: info, message: name, target: {name: we}}
- {expression: 'false', severity: info, message: namespace, target: {namespace: ns}}
- {expression: 'false', severity: info, message: labels, target: {labels: {tier: back}}}
- {expression: 'false', severity: info, message: all, target: {apiVersion: apps/v1, kind: Deployment, name: web, namespace: ns, labels: {tier: front}}}
- {expression: 'false', severity: info, message: all but one, target: {apiVersion: apps/v1, kind: Deployment, name: web, namespace: ns, labels: {tier: back}}}
`,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
- {apiVersion: v1, kind: Service, metadata: {name: web, labels: {tier: back}}, spec: {ports: [{port: 80}]}}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
- {apiVersion: v1, kind: Service, metadata: {name: web, labels: {tier: back}}, spec: {ports: [{port: 80}]}}
results:
- file:
    index: 2
    path: web.yaml
  message: apiVersion
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: info
- file:
    index: 2
    path: web.yaml
  message: namespace
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: info
- file:
    index: 2
    path: web.yaml
  message: all
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: info
- message: kind
  resourceRef:
    name: web
    apiVersion: v1
    kind: Service
  severity: info
- message: labels
  resourceRef:
    name: web
    apiVersion: v1
    kind: Service
  severity: info
`,
		},
		{
			Name: "matchConditions",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
matchConditions:
- {name: no services, expression: object.kind != 'Service'}
- {name: known, expression: object.spec.replicas > 0}
validations:
- {expression: 'false', severity: info, message: matched}
`,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
- {apiVersion: v1, kind: Service, metadata: {name: web, labels: {tier: back}}, spec: {ports: [{port: 80}]}}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
- {apiVersion: v1, kind: Service, metadata: {name: web, labels: {tier: back}}, spec: {ports: [{port: 80}]}}
results:
- file:
    index: 2
    path: web.yaml
  message: matched
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: info
`,
		},
		{
			Name: "local configuration",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
validations:
- {expression: 'false', severity: info, message: any}
- {expression: 'false', severity: info, message: Kptfile, target: {kind: Kptfile}}
`,
			Items: `
- {apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: k}}
- {apiVersion: fn.kpt.dev/v1alpha1, kind: StarlarkRun, metadata: {name: s}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: l, annotations: {config.kubernetes.io/local-config: 'true'}}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: m, annotations: {config.kubernetes.io/local-config: 'false'}}}
`,
			Want: `
items:
- {apiVersion: fn.kpt.dev/v1alpha1, kind: StarlarkRun, metadata: {name: s}}
- {apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: k}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: l, annotations: {config.kubernetes.io/local-config: 'true'}}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: m, annotations: {config.kubernetes.io/local-config: 'false'}}}
results:
- message: Kptfile
  resourceRef:
    name: k
    apiVersion: kpt.dev/v1
    kind: Kptfile
  severity: info
- message: any
  resourceRef:
    name: m
    apiVersion: v1
    kind: ConfigMap
  severity: info
`,
		},
		{
			Name: "no items",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
validations: [{expression: 'false'}]
`,
			Want: `
`,
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
	functiontest.EvaluateTwice(t, Function, cases)
}

func TestValidateCELErrors(t *testing.T) {
	t.Parallel()
	cases := []functiontest.Case{
		{
			Name: "messages",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
validations:
- expression: |
    object.spec.replicas
      <= 2
- {name: few, expression: object.spec.replicas <= 2}
- {expression: object.spec.replicas <= 2, message: too many, fieldPath: .spec.replicas}
- {expression: object.spec.replicas <= 2, message: too many, messageExpression: "'too many: ' + string(object.spec.replicas)"}
- {expression: object.spec.replicas <= 2, message: one that fails, messageExpression: object.spec.nope}
- {expression: object.spec.replicas <= 2, message: one that is empty, messageExpression: "' '"}
- {expression: object.spec.replicas <= 2, message: one of two lines, messageExpression: '"a\nb"'}
- {expression: object.spec.replicas <= 2, message: one that is a number, messageExpression: object.spec.replicas}
`,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
results:
- file:
    index: 2
    path: web.yaml
  message: 'validations[0]: failed expression: object.spec.replicas <= 2'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: 2
    path: web.yaml
  message: 'validations[1] (few): failed expression: object.spec.replicas <= 2'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- field:
    path: spec.replicas
  file:
    index: 2
    path: web.yaml
  message: too many
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: 2
    path: web.yaml
  message: 'too many: 3'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: 2
    path: web.yaml
  message: one that fails
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: 2
    path: web.yaml
  message: one that is empty
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: 2
    path: web.yaml
  message: one of two lines
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: 2
    path: web.yaml
  message: one that is a number
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "expressions that cannot be evaluated",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
variables:
- {name: nope, expression: object.spec.nope}
validations:
- {name: no key, expression: object.spec.nope == 1, severity: info, fieldPath: spec.nope}
- {expression: variables.nope == 1}
- {expression: object.spec.replicas}
- {expression: object.spec.replicas.size() == 1}
- {expression: 1 / (object.spec.replicas - 3) == 1}
- {expression: "object.spec.template.spec.containers[5].name == 'a'"}
- {expression: 'true'}
`,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
results:
- field:
    path: spec.nope
  file:
    index: 2
    path: web.yaml
  message: 'validations[0] (no key): the expression cannot be evaluated: no such key: nope'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: 2
    path: web.yaml
  message: 'validations[1]: the expression cannot be evaluated: no such key: nope'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: 2
    path: web.yaml
  message: 'validations[2]: the expression cannot be evaluated: it is of type int: want bool'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: 2
    path: web.yaml
  message: 'validations[3]: the expression cannot be evaluated: no such overload: size'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: 2
    path: web.yaml
  message: 'validations[4]: the expression cannot be evaluated: division by zero'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: 2
    path: web.yaml
  message: 'validations[5]: the expression cannot be evaluated: index out of bounds: 5'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a matchCondition that cannot be evaluated",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
matchConditions: [{name: nope, expression: object.spec.nope}]
validations:
- {expression: 'true', target: {name: other}}
- {expression: 'true'}
- {expression: 'false'}
`,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
results:
- file:
    index: 2
    path: web.yaml
  message: 'matchConditions[0] (nope): the expression cannot be evaluated: no such key: nope'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "expressions that cost too much",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
variables:
- {name: s, expression: "lists.range(1000).map(i, '0123456789').join('')"}
- {name: l, expression: lists.range(100000)}
- {name: l4, expression: variables.l + variables.l + variables.l + variables.l}
- {name: l16, expression: variables.l4 + variables.l4 + variables.l4 + variables.l4}
- {name: s2, expression: variables.s + variables.s + variables.s + variables.s}
validations:
- {expression: 'lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b + c >= 0)))'}
- {expression: "variables.s.replace('', variables.s) == ''"}
- {expression: "lists.range(10000).distinct() == []"}
- {expression: "lists.range(2000).map(i, variables.s).join(',') == ''"}
- {expression: "'%s'.format([lists.range(2000).map(i, variables.s)]) == ''"}
- {expression: "lists.range(1000).all(i, (variables.s2 + variables.s2).size() > i)"}
- {expression: variables.l16.size() > 0}
- {expression: lists.range(1000000000).size() == 0}
- {expression: "true"}
`,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
results:
- file:
    index: 2
    path: web.yaml
  message: 'validations[0]: the expression cannot be evaluated: operation cancelled: actual cost limit exceeded'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: 2
    path: web.yaml
  message: 'validations[1]: the expression cannot be evaluated: the arguments of replace are too large'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: 2
    path: web.yaml
  message: 'validations[2]: the expression cannot be evaluated: operation cancelled: actual cost limit exceeded'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: 2
    path: web.yaml
  message: 'validations[3]: the expression cannot be evaluated: the arguments of join are too large'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: 2
    path: web.yaml
  message: 'validations[4]: the expression cannot be evaluated: the arguments of format are too large'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: 2
    path: web.yaml
  message: 'validations[5]: the expression cannot be evaluated: operation cancelled: actual cost limit exceeded'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: 2
    path: web.yaml
  message: 'validations[6]: the expression cannot be evaluated: operation cancelled: actual cost limit exceeded'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: 2
    path: web.yaml
  message: 'validations[7]: the expression cannot be evaluated: lists.range: size 1000000000 exceeds maximum allowed (100000)'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a ConfigMap",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  few: object.spec.replicas <= 2
  Tagged: "object.spec.template.spec.containers.all(c, c.image.contains(':'))"
`,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: ns
    labels: {tier: front}
    annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '2'}
  spec:
    replicas: 3 # three
    paused: on
    ratio: 0.5
    template: {spec: {containers: [{name: a, image: 'nginx:1'}, {name: b, image: nginx}]}}
results:
- file:
    index: 2
    path: web.yaml
  message: 'data.Tagged: failed expression: object.spec.template.spec.containers.all(c, c.image.contains('':''))'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: 2
    path: web.yaml
  message: 'data.few: failed expression: object.spec.replicas <= 2'
  resourceRef:
    name: web
    namespace: ns
    apiVersion: apps/v1
    kind: Deployment
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "an unreadable resource",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: ValidateCEL
metadata: {name: c}
validations: [{expression: 'true'}]
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: .nan}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: .nan}}
results:
- message: 'the resource cannot be read: json: unsupported value: NaN'
  resourceRef:
    name: a
    apiVersion: v1
    kind: ConfigMap
  severity: error
`,
			Err: functiontest.Failed,
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
}

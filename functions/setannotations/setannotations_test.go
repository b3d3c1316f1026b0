// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package setannotations

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestSetAnnotations(t *testing.T) {
	t.Parallel()
	const config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {z: 1, b: 'true'}\n"
	functiontest.EvaluateAll(t, Function, []functiontest.Case{
		{
			Name:   "all resources and pod templates, one result per place",
			Config: config,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: d
    annotations:
      internal.config.kubernetes.io/path: 'd.yaml'
      internal.config.kubernetes.io/index: '1'
      z: "old" # kpt-set: ${z}
  spec:
    template: {spec: {}}
- apiVersion: batch/v1
  kind: CronJob
  metadata:
    name: c
    annotations: {config.kubernetes.io/path: a.yaml}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: local, annotations: {config.kubernetes.io/local-config: "true", z: old}}
- apiVersion: v1
  kind: ReplicationController
  metadata: {name: r}
  spec: {}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: d
    annotations:
      internal.config.kubernetes.io/path: 'd.yaml'
      internal.config.kubernetes.io/index: '1'
      z: "1" # kpt-set: ${z}
      b: "true"
  spec:
    template: {spec: {}, metadata: {annotations: {b: "true", z: "1"}}}
- apiVersion: batch/v1
  kind: CronJob
  metadata:
    name: c
    annotations: {config.kubernetes.io/path: a.yaml, b: "true", z: "1"}
  spec:
    jobTemplate:
      metadata:
        annotations:
          b: "true"
          z: "1"
      spec:
        template:
          metadata:
            annotations:
              b: "true"
              z: "1"
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: local, annotations: {config.kubernetes.io/local-config: "true", z: "1", b: "true"}}
- apiVersion: v1
  kind: ReplicationController
  metadata: {name: r, annotations: {b: "true", z: "1"}}
  spec: {template: {metadata: {annotations: {b: "true", z: "1"}}}}
results:
- field:
    path: metadata.annotations
  file: {}
  message: 'set annotations: {"b":"true","z":"1"}'
- field:
    path: spec.template.metadata.annotations
  file: {}
  message: 'set annotations: {"b":"true","z":"1"}'
- field:
    path: metadata.annotations
  file:
    path: a.yaml
  message: 'set annotations: {"b":"true","z":"1"}'
- field:
    path: spec.jobTemplate.metadata.annotations
  file:
    path: a.yaml
  message: 'set annotations: {"b":"true","z":"1"}'
- field:
    path: spec.jobTemplate.spec.template.metadata.annotations
  file:
    path: a.yaml
  message: 'set annotations: {"b":"true","z":"1"}'
- field:
    path: metadata.annotations
  file:
    index: 1
    path: d.yaml
  message: 'set annotations: {"b":"true","z":"1"}'
- field:
    path: spec.template.metadata.annotations
  file:
    index: 1
    path: d.yaml
  message: 'set annotations: {"b":"true","z":"1"}'
`,
		},
		{
			Name: "additional fields",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: SetAnnotations
annotations: {m: 3, on: off}
additionalAnnotationFields:
- {group: example.com, version: v1, kind: Frog, path: spec/eggs/annotations, create: true}
- {kind: Frog, path: spec/none/annotations}
- {kind: Toad, path: spec/annotations, create: true}
`,
			Items: `
- apiVersion: example.com/v1
  kind: Frog
  metadata: {name: f}
  spec:
    eggs:
    - {annotations: {a: b}}
    - {}
- apiVersion: example.com/v2
  kind: Frog
  metadata: {name: g}
`,
			Want: `
items:
- apiVersion: example.com/v1
  kind: Frog
  metadata: {name: f, annotations: {m: "3", "on": "off"}}
  spec:
    eggs:
    - {annotations: {a: b, m: "3", "on": "off"}}
    - {annotations: {m: "3", "on": "off"}}
- apiVersion: example.com/v2
  kind: Frog
  metadata: {name: g, annotations: {m: "3", "on": "off"}}
results:
- field:
    path: metadata.annotations
  file: {}
  message: 'set annotations: {"m":"3","on":"off"}'
- field:
    path: spec.eggs.annotations
  file: {}
  message: 'set annotations: {"m":"3","on":"off"}'
`,
		},
		{
			Name:   "annotations shared through an alias",
			Config: config,
			Items: `
- apiVersion: v1
  kind: Pod
  metadata: {name: p, labels: &l {a: b}, annotations: *l}
`,
			Want: `
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: p, labels: &l {a: b}, annotations: {a: b, b: "true", z: "1"}}
results:
- field:
    path: metadata.annotations
  file: {}
  message: 'set annotations: {"b":"true","z":"1"}'
`,
		},
		{
			Name:   "no items",
			Config: config,
			Want:   "results:\n- message: no annotations applied\n",
		},
	})
}

func TestSetAnnotationsErrors(t *testing.T) {
	t.Parallel()
	const (
		config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {z: x}\n"
		item   = "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
	)
	result := func(message string) string {
		return "results:\n- message: " + message + "\n  severity: error\n"
	}
	functiontest.EvaluateAll(t, Function, []functiontest.Case{
		{
			Name:  "no functionConfig",
			Items: item,
			Want: "items:\n" + item +
				result("'failed to configure function: `functionConfig` must be a `ConfigMap` or `SetAnnotations`'"),
			Err: functiontest.Failed,
		},
		{
			Name:   "another version of functionConfig",
			Config: "apiVersion: fn.kpt.dev/v1\nkind: SetAnnotations\nannotations: {a: b}\n",
			Want:   result("'failed to configure function: `functionConfig` must be a `ConfigMap` or `SetAnnotations`'"),
			Err:    functiontest.Failed,
		},
		{
			Name:   "no annotations",
			Config: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
			Want:   result("'failed to configure function: input annotation list cannot be empty'"),
			Err:    functiontest.Failed,
		},
		{
			Name:   "an annotation is not a string",
			Config: "apiVersion: v1\nkind: ConfigMap\ndata: {z: [a]}\n",
			Want: result("'failed to configure function: failed to unmarshal config: " +
				"data.z of the functionConfig is not a string'"),
			Err: functiontest.Failed,
		},
		{
			Name: "fields under both names",
			Config: "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetAnnotationConfig\nannotations: {a: b}\n" +
				"fieldSpecs: [{path: a/b}]\nadditionalAnnotationFields: [{path: a/b}]\n",
			Want: result("'failed to configure function: `fieldSpecs` has been deprecated, " +
				"please rename it to `additionalAnnotationFields`'"),
			Err: functiontest.Failed,
		},
		{
			Name:   "the same identity twice",
			Config: config,
			Items:  item + "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}\n",
			Want: "items:\n" + item + "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}\n" +
				result("'failed to run function: may not add resource with an already registered id: "+
					"~G_v1_ConfigMap|default|a'"),
			Err: functiontest.Failed,
		},
		{
			Name:   "no name",
			Config: config,
			Items:  "- {apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: b}}}\n",
			Want: "items:\n- {apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: b}}}\n" +
				result("'failed to run function: missing metadata.name in object {{v1 ConfigMap} {{ } map[a:b] map[]}}'"),
			Err: functiontest.Failed,
		},
		{
			Name:   "a field of the wrong type",
			Config: config,
			Items:  "- {apiVersion: apps/v1, kind: Deployment, metadata: {name: d, annotations: {}}, spec: x}\n",
			Want: "items:\n- {apiVersion: apps/v1, kind: Deployment, metadata: {name: d, annotations: {z: x}}, spec: x}\n" +
				result("'failed to run function: failed to run transformer: considering field "+
					"''spec/template/metadata/annotations'' of object Deployment.v1.apps/d.[noNs]: "+
					"expected sequence or mapping node'"),
			Err: functiontest.Failed,
		},
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import "testing"

func TestSetAnnotations(t *testing.T) {
	t.Parallel()
	const config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {z: 1, b: 'true'}\n"
	evaluateAll(t, "set-annotations", []evaluation{
		{
			name:   "every resource, and pod templates, with one result for each place",
			config: config,
			items: `
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
			want: `
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
			name: "additional fields",
			config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: SetAnnotations
annotations: {m: 3, on: off}
additionalAnnotationFields:
- {group: example.com, version: v1, kind: Frog, path: spec/eggs/annotations, create: true}
- {kind: Frog, path: spec/none/annotations}
- {kind: Toad, path: spec/annotations, create: true}
`,
			items: `
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
			want: `
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
			name:   "annotations that are shared through an alias",
			config: config,
			items: `
- apiVersion: v1
  kind: Pod
  metadata: {name: p, labels: &l {a: b}, annotations: *l}
`,
			want: `
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
			name:   "no items",
			config: config,
			want:   "results:\n- message: no annotations applied\n",
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
	evaluateAll(t, "set-annotations", []evaluation{
		{
			name:  "no functionConfig",
			items: item,
			want: "items:\n" + item +
				result("'failed to configure function: `functionConfig` must be a `ConfigMap` or `SetAnnotations`'"),
			err: failed,
		},
		{
			name:   "another version of functionConfig",
			config: "apiVersion: fn.kpt.dev/v1\nkind: SetAnnotations\nannotations: {a: b}\n",
			want:   result("'failed to configure function: `functionConfig` must be a `ConfigMap` or `SetAnnotations`'"),
			err:    failed,
		},
		{
			name:   "no annotations",
			config: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
			want:   result("'failed to configure function: input annotation list cannot be empty'"),
			err:    failed,
		},
		{
			name:   "an annotation that is no string",
			config: "apiVersion: v1\nkind: ConfigMap\ndata: {z: [a]}\n",
			want: result("'failed to configure function: failed to unmarshal config: " +
				"data.z of the functionConfig is not a string'"),
			err: failed,
		},
		{
			name: "fields under both names",
			config: "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetAnnotationConfig\nannotations: {a: b}\n" +
				"fieldSpecs: [{path: a/b}]\nadditionalAnnotationFields: [{path: a/b}]\n",
			want: result("'failed to configure function: `fieldSpecs` has been deprecated, " +
				"please rename it to `additionalAnnotationFields`'"),
			err: failed,
		},
		{
			name:   "the same identity twice",
			config: config,
			items:  item + "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}\n",
			want: "items:\n" + item + "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}\n" +
				result("'failed to run function: may not add resource with an already registered id: "+
					"~G_v1_ConfigMap|default|a'"),
			err: failed,
		},
		{
			name:   "no name",
			config: config,
			items:  "- {apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: b}}}\n",
			want: "items:\n- {apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: b}}}\n" +
				result("'failed to run function: missing metadata.name in object {{v1 ConfigMap} {{ } map[a:b] map[]}}'"),
			err: failed,
		},
		{
			name:   "a field of the wrong type",
			config: config,
			items:  "- {apiVersion: apps/v1, kind: Deployment, metadata: {name: d, annotations: {}}, spec: x}\n",
			want: "items:\n- {apiVersion: apps/v1, kind: Deployment, metadata: {name: d, annotations: {z: x}}, spec: x}\n" +
				result("'failed to run function: failed to run transformer: considering field "+
					"''spec/template/metadata/annotations'' of object Deployment.v1.apps/d.[noNs]: "+
					"expected sequence or mapping node'"),
			err: failed,
		},
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package setimage

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

const imageConfig = `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {name: nginx, newTag: 2.10}
`

func TestSetImage(t *testing.T) {
	t.Parallel()
	cases := []functiontest.Case{
		{
			Name:   "every workload, with quotes and comments kept",
			Config: imageConfig,
			Items: `
- apiVersion: v1
  kind: Pod
  metadata: {name: p, annotations: {config.kubernetes.io/local-config: "true"}}
  spec:
    # first
    initContainers:
    - name: i
      image: 'nginx' # quoted
    containers: [{name: a, image: "nginx:1"}, {name: b, image: 'nginxx:1'}, {name: c, image: lib/nginx}, {name: d}]
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: d}
  spec:
    template:
      spec:
        containers:
        - image: nginx:1@sha256:abc # digest
- {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s}, spec: {template: {spec: {containers: [{image: nginx}]}}}}
- {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r}, spec: {template: {spec: {containers: [{image: nginx}]}}}}
- {apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d}, spec: {template: {spec: {containers: [{image: nginx}]}}}}
- {apiVersion: v1, kind: ReplicationController, metadata: {name: c}, spec: {template: {spec: {containers: [{image: nginx}]}}}}
- {apiVersion: v1, kind: PodTemplate, metadata: {name: t}, template: {spec: {containers: [{image: nginx}]}}}
- {apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {spec: {initContainers: [{image: nginx}]}}}}
- apiVersion: batch/v1
  kind: CronJob
  metadata: {name: c}
  spec: {jobTemplate: {spec: {template: {spec: {containers: [{image: nginx}]}}}}}
- apiVersion: v1
  kind: Service
  metadata:
    name: s # not a workload
  spec: {containers: [{image: nginx}]}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: half}
  spec: {template: {metadata: {}}}
`,
			Want: `
items:
- {apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d}, spec: {template: {spec: {containers: [{image: 'nginx:2.10'}]}}}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: d}
  spec:
    template:
      spec:
        containers:
        - image: nginx:2.10 # digest
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: half}
  spec: {template: {metadata: {}}}
- {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r}, spec: {template: {spec: {containers: [{image: 'nginx:2.10'}]}}}}
- {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s}, spec: {template: {spec: {containers: [{image: 'nginx:2.10'}]}}}}
- apiVersion: batch/v1
  kind: CronJob
  metadata: {name: c}
  spec: {jobTemplate: {spec: {template: {spec: {containers: [{image: 'nginx:2.10'}]}}}}}
- {apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {spec: {initContainers: [{image: 'nginx:2.10'}]}}}}
- apiVersion: v1
  kind: Pod
  metadata: {name: p, annotations: {config.kubernetes.io/local-config: "true"}}
  spec:
    # first
    initContainers:
    - name: i
      image: 'nginx:2.10' # quoted
    containers: [{name: a, image: "nginx:2.10"}, {name: b, image: 'nginxx:1'}, {name: c, image: lib/nginx}, {name: d}]
- {apiVersion: v1, kind: PodTemplate, metadata: {name: t}, template: {spec: {containers: [{image: 'nginx:2.10'}]}}}
- {apiVersion: v1, kind: ReplicationController, metadata: {name: c}, spec: {template: {spec: {containers: [{image: 'nginx:2.10'}]}}}}
- apiVersion: v1
  kind: Service
  metadata:
    name: s # not a workload
  spec: {containers: [{image: nginx}]}
results:
- message: 'summary: updated a total of 10 image(s)'
  severity: info
`,
		},
		{
			Name: "a new name keeps the version",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {name: nginx, newName: reg:5000/web}
`,
			Items: `
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec:
    containers:
    - image: nginx
    - image: nginx:1
    - image: nginx@sha256:a
    - image: nginx:1@sha256:a
    - image: reg:5000/nginx:1
`,
			Want: `
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec:
    containers:
    - image: reg:5000/web
    - image: reg:5000/web:1
    - image: reg:5000/web@sha256:a
    - image: reg:5000/web:1@sha256:a
    - image: reg:5000/nginx:1
results:
- message: 'summary: updated a total of 4 image(s)'
  severity: info
`,
		},
		{
			Name: "a new tag drops the digest",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {name: 'reg:5000/nginx', newName: web, newTag: '3'}
`,
			Items: `
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec:
    containers:
    - image: reg:5000/nginx:1@sha256:a
    - image: reg:5000/nginx@sha256:a
    - image: nginx:1
`,
			Want: `
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec:
    containers:
    - image: web:3
    - image: web:3
    - image: nginx:1
results:
- message: 'summary: updated a total of 2 image(s)'
  severity: info
`,
		},
		{
			Name: "a digest wins over a tag",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {name: nginx, newTag: '3', digest: 'sha256:fff'}
`,
			Items: `
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec:
    containers:
    - image: nginx
    - image: nginx:1@sha256:a
`,
			Want: `
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec:
    containers:
    - image: nginx@sha256:fff
    - image: nginx@sha256:fff
results:
- message: 'summary: updated a total of 2 image(s)'
  severity: info
`,
		},
		{
			Name: "the name is not a pattern",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {name: 'n.inx(', newTag: '3'}
`,
			Items: `
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec:
    containers:
    - image: nginx:1
    - image: n.inx(:1
`,
			Want: `
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec:
    containers:
    - image: nginx:1
    - image: n.inx(:3
results:
- message: 'summary: updated a total of 1 image(s)'
  severity: info
`,
		},
		{
			Name:   "an unchanged image is not counted",
			Config: imageConfig,
			Items: `
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec:
    containers:
    - image: nginx:2.10
    - image: nginx:{TAG}
`,
			Want: `
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec:
    containers:
    - image: nginx:2.10
    - image: nginx:2.10
results:
- message: 'summary: updated a total of 1 image(s)'
  severity: info
`,
		},
		{
			Name:   "images shared through an alias",
			Config: imageConfig,
			Items: `
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec:
    containers:
    - image: &image nginx # shared
    - image: *image
  status: {image: *image}
- apiVersion: v1
  kind: Pod
  metadata: {name: untouched}
  spec:
    containers:
    - image: &other busybox
    - image: *other
`,
			Want: `
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec:
    containers:
    - image: &image nginx:2.10 # shared
    - image: nginx:2.10
  status: {image: nginx}
- apiVersion: v1
  kind: Pod
  metadata: {name: untouched}
  spec:
    containers:
    - image: &other busybox
    - image: *other
results:
- message: 'summary: updated a total of 2 image(s)'
  severity: info
`,
		},
		{
			Name: "additional fields, comments are kept",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: SetImage
metadata: {name: c}
image: {name: nginx, newTag: 2.10}
additionalImageFields:
- group: example.com
  version: v1
  kind: Frog
  path: spec/manifest/images[]/image
  create: true
- path: spec/pond
`,
			Items: `
- apiVersion: example.com/v1
  kind: Frog
  metadata: {name: f} # kept
  spec:
    pond: null
    manifest:
      images:
      - image: 'nginx:1' # counts
      - image: nginx:2.10 # counts too
      - other: nginx
- apiVersion: example.com/v2
  kind: Frog
  metadata: {name: g}
  spec: {pond: nginx, manifest: {images: [{image: nginx}]}}
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: d}
  spec: {pond: nginx}
`,
			Want: `
items:
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: d}
  spec: {pond: nginx}
- apiVersion: example.com/v1
  kind: Frog
  metadata: {name: f} # kept
  spec:
    pond: null
    manifest:
      images:
      - image: 'nginx:2.10' # counts
      - image: nginx:2.10 # counts too
      - other: nginx
- apiVersion: example.com/v2
  kind: Frog
  metadata: {name: g}
  spec: {pond: 'nginx:2.10', manifest: {images: [{image: nginx}]}}
results:
- message: 'summary: updated a total of 3 image(s)'
  severity: info
`,
		},
		{
			Name:   "path annotations are like other annotations",
			Config: imageConfig,
			Items: `
- apiVersion: v1
  kind: Pod
  metadata: {name: a, annotations: {internal.config.kubernetes.io/path: a.yaml, internal.config.kubernetes.io/index: '1'}}
  spec: {containers: [{image: nginx}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: b, annotations: {config.kubernetes.io/path: b.yaml}}
  spec: {containers: [{image: nginx}]}
`,
			Want: `
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: a, annotations: {internal.config.kubernetes.io/path: a.yaml, internal.config.kubernetes.io/index: '1'}}
  spec: {containers: [{image: 'nginx:2.10'}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: b, annotations: {config.kubernetes.io/path: b.yaml}}
  spec: {containers: [{image: 'nginx:2.10'}]}
results:
- message: 'summary: updated a total of 2 image(s)'
  severity: info
`,
		},
		{
			Name:   "no items",
			Config: imageConfig,
			Want: `
results:
- message: 'summary: updated a total of 0 image(s)'
  severity: info
`,
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
	functiontest.EvaluateTwice(t, Function, cases)
}

func TestSetImageErrors(t *testing.T) {
	t.Parallel()
	functiontest.EvaluateAll(t, Function, []functiontest.Case{
		{
			Name: "no functionConfig",
			Items: `
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec:
    containers:
    - image: nginx
`,
			Want: `
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec:
    containers:
    - image: nginx
results:
- message: '` + "`" + `FunctionConfig` + "`" + ` is not given'
  severity: info
- message: must specify ` + "`" + `name` + "`" + `
  severity: error
- message: 'function is terminated: must specify ` + "`" + `name` + "`" + `'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "an unknown kind",
			Config: `
apiVersion: v1
kind: Secret
metadata: {name: s}
`,
			Items: `
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec:
    containers:
    - image: nginx
`,
			Want: `
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec:
    containers:
    - image: nginx
results:
- file:
    index: -1
  message: unknown FunctionConfig ` + "`" + `Secret` + "`" + `, expect SetImage
  resourceRef:
    name: s
    apiVersion: v1
    kind: Secret
  severity: error
- message: 'function is terminated by Resource(apiVersion=v1, kind=Secret, namespace=, name=s): unknown FunctionConfig ` + "`" + `Secret` + "`" + `, expect SetImage'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "an unknown field",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {name: nginx, tag: '1'}
`,
			Want: `
results:
- message: ConfigMap has wrong field name tag
  severity: error
- message: 'function is terminated: ConfigMap has wrong field name tag'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a field is not text",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {name: [nginx]}
`,
			Want: `
results:
- message: data.name of the functionConfig is not a string
  severity: error
- message: 'function is terminated: data.name of the functionConfig is not a string'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "data is not a map",
			Config: `
apiVersion: v1
kind: ConfigMap
data: [nginx]
`,
			Want: `
results:
- message: data of the functionConfig is not a map
  severity: error
- message: 'function is terminated: data of the functionConfig is not a map'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "no name",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {newTag: '1'}
`,
			Want: `
results:
- message: must specify ` + "`" + `name` + "`" + `
  severity: error
- message: 'function is terminated: must specify ` + "`" + `name` + "`" + `'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "nothing new",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {name: nginx}
`,
			Want: `
results:
- message: must specify one of ` + "`" + `newName` + "`" + `, ` + "`" + `newTag` + "`" + `, or ` + "`" + `digest` + "`" + `
  severity: error
- message: 'function is terminated: must specify one of ` + "`" + `newName` + "`" + `, ` + "`" + `newTag` + "`" + `, or ` + "`" + `digest` + "`" + `'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a typed config of the wrong type",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: SetImage
image: nginx
`,
			Want: `
results:
- message: |-
    unable to read the FunctionConfig: yaml: unmarshal errors:
      line 6: cannot unmarshal !!str ` + "`" + `nginx` + "`" + `
  severity: error
- message: |-
    function is terminated: unable to read the FunctionConfig: yaml: unmarshal errors:
      line 6: cannot unmarshal !!str ` + "`" + `nginx` + "`" + `
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name:   "an invalid item, other items are changed",
			Config: imageConfig,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: d, annotations: {internal.config.kubernetes.io/path: d.yaml, internal.config.kubernetes.io/index: '1'}}
  spec: {template: {spec: {containers: nginx}}}
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec: {containers: [{image: [nginx]}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: q}
  spec:
    containers:
    - image: nginx
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: d, annotations: {internal.config.kubernetes.io/path: d.yaml, internal.config.kubernetes.io/index: '1'}}
  spec: {template: {spec: {containers: nginx}}}
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec: {containers: [{image: [nginx]}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: q}
  spec:
    containers:
    - image: nginx:2.10
results:
- file:
    index: 1
    path: d.yaml
  message: 'considering field ''spec/template/spec/containers[]/image'' of object Deployment.v1.apps/d.[noNs]: expected sequence or mapping node'
  resourceRef:
    name: d
    apiVersion: apps/v1
    kind: Deployment
  severity: error
- file:
    index: -1
  message: |
    considering field 'spec/containers[]/image' of object Pod.v1.[noGrp]/p.[noNs]: visit traversal on path: [image]: wrong node kind: expected ScalarNode but got SequenceNode: node contents:
    [nginx]
  resourceRef:
    name: p
    apiVersion: v1
    kind: Pod
  severity: error
- message: 'summary: updated a total of 1 image(s)'
  severity: info
`,
			Err: functiontest.Failed,
		},
		{
			Name:   "an alias that contains itself",
			Config: imageConfig,
			Items: `
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec: {containers: &c [*c]}
`,
			Want: `
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec: {containers: &c [*c]}
results:
- file:
    index: -1
  message: 'the resource is too large with its YAML aliases expanded: the limit is 100000 nodes'
  resourceRef:
    name: p
    apiVersion: v1
    kind: Pod
  severity: error
- message: 'summary: updated a total of 0 image(s)'
  severity: info
`,
			Err: functiontest.Failed,
		},
	})
}

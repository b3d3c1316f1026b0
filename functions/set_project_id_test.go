// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import "testing"

func TestSetProjectID(t *testing.T) {
	t.Parallel()
	cases := []evaluation{
		{
			name: "a setter and resources",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {project-id: other}
    # setters
    - image: ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2
      configMap:
        a: b # first
- apiVersion: storage.cnrm.cloud.google.com/v1beta1
  kind: StorageBucket
  metadata:
    name: b # mine
- {apiVersion: storage.cnrm.cloud.google.com/v1beta1, kind: StorageBucket, metadata: {name: c, annotations: {a: b}}}
- {apiVersion: storage.cnrm.cloud.google.com/v1beta1, kind: StorageBucket, metadata: {name: d, annotations: {cnrm.cloud.google.com/project-id: theirs}}}
- {apiVersion: core.cnrm.cloud.google.com/v1beta1, kind: ConfigConnector, metadata: {name: e}}
- {apiVersion: storage.cnrm.cloud.google.com.example.com/v1, kind: StorageBucket, metadata: {name: f}}
`,
			want: `
items:
- {apiVersion: core.cnrm.cloud.google.com/v1beta1, kind: ConfigConnector, metadata: {name: e}}
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {project-id: other}
    # setters
    - image: ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2
      configMap:
        a: b # first
        project-id: mine
- {apiVersion: storage.cnrm.cloud.google.com.example.com/v1, kind: StorageBucket, metadata: {name: f}}
- apiVersion: storage.cnrm.cloud.google.com/v1beta1
  kind: StorageBucket
  metadata:
    name: b # mine
    annotations:
      cnrm.cloud.google.com/project-id: mine
- {apiVersion: storage.cnrm.cloud.google.com/v1beta1, kind: StorageBucket, metadata: {name: c, annotations: {a: b, cnrm.cloud.google.com/project-id: mine}}}
- {apiVersion: storage.cnrm.cloud.google.com/v1beta1, kind: StorageBucket, metadata: {name: d, annotations: {cnrm.cloud.google.com/project-id: theirs}}}
`,
		},
		{
			name: "a setter that has a value",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {project-id: other}
    # setters
    - image: ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2
      configMap:
        a: b # first
        project-id: 'theirs' # kept
`,
			want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {project-id: other}
    # setters
    - image: ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2
      configMap:
        a: b # first
        project-id: 'theirs' # kept
`,
		},
		{
			name: "a setter that is empty",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {project-id: other}
    # setters
    - image: ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2
      configMap:
        a: b # first
        project-id: "" # filled
`,
			want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {project-id: other}
    # setters
    - image: ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2
      configMap:
        a: b # first
        project-id: "mine" # filled
`,
		},
		{
			name: "no pipeline",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  info: {description: x} # kept
`,
			want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  info: {description: x} # kept
  pipeline:
    mutators:
    - image: gcr.io/kpt-fn/apply-setters:v0.2
      configMap:
        project-id: mine
`,
		},
		{
			name: "no step for setters",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    validators:
    - image: kubeconform:v0.1
    mutators: []
`,
			want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    validators:
    - image: kubeconform:v0.1
    mutators:
    - image: gcr.io/kpt-fn/apply-setters:v0.2
      configMap:
        project-id: mine
`,
		},
		{
			name: "values in a file",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k, annotations: {internal.config.kubernetes.io/path: Kptfile}}
  pipeline: {mutators: [{image: apply-setters, configPath: setters.yaml}]}
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: sub, annotations: {internal.config.kubernetes.io/path: sub/Kptfile}}
  pipeline: {mutators: [{image: apply-setters, configPath: ./setters.yaml}]}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: s, annotations: {internal.config.kubernetes.io/path: setters.yaml}}
  data: # values
    z: 'z' # last
    a: a
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: t, annotations: {config.kubernetes.io/path: sub/setters.yaml}}
`,
			want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k, annotations: {internal.config.kubernetes.io/path: Kptfile}}
  pipeline: {mutators: [{image: apply-setters, configPath: setters.yaml}]}
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: sub, annotations: {internal.config.kubernetes.io/path: sub/Kptfile}}
  pipeline: {mutators: [{image: apply-setters, configPath: ./setters.yaml}]}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: s, annotations: {internal.config.kubernetes.io/path: setters.yaml}}
  data: # values
    z: 'z' # last
    a: a
    project-id: mine
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: t, annotations: {config.kubernetes.io/path: sub/setters.yaml}}
  data:
    project-id: mine
`,
		},
		{
			name: "values in a file of each package",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k, annotations: {internal.config.kubernetes.io/path: Kptfile, internal.config.kubernetes.io/package-path: /p}}
  pipeline: {mutators: [{image: apply-setters, configPath: setters.yaml}]}
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: sub, annotations: {internal.config.kubernetes.io/path: Kptfile, internal.config.kubernetes.io/package-path: /p/sub}}
  pipeline: {mutators: [{image: apply-setters, configPath: setters.yaml}]}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: s, annotations: {internal.config.kubernetes.io/path: setters.yaml, internal.config.kubernetes.io/package-path: /p}}
  data: {project-id: own}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: t, annotations: {internal.config.kubernetes.io/path: setters.yaml, internal.config.kubernetes.io/package-path: /p/sub}}
`,
			want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k, annotations: {internal.config.kubernetes.io/path: Kptfile, internal.config.kubernetes.io/package-path: /p}}
  pipeline: {mutators: [{image: apply-setters, configPath: setters.yaml}]}
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: sub, annotations: {internal.config.kubernetes.io/path: Kptfile, internal.config.kubernetes.io/package-path: /p/sub}}
  pipeline: {mutators: [{image: apply-setters, configPath: setters.yaml}]}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: s, annotations: {internal.config.kubernetes.io/path: setters.yaml, internal.config.kubernetes.io/package-path: /p}}
  data: {project-id: own}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: t, annotations: {internal.config.kubernetes.io/path: setters.yaml, internal.config.kubernetes.io/package-path: /p/sub}}
  data:
    project-id: mine
`,
		},
		{
			name: "another kind of functionConfig",
			config: `
apiVersion: example.com/v1
kind: Frog
data: {project-id: 5}
`,
			items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {project-id: other}
    # setters
    - image: ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2
      configMap:
        a: b # first
`,
			want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {project-id: other}
    # setters
    - image: ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2
      configMap:
        a: b # first
        project-id: "5"
`,
		},
		{
			name: "values that the Kptfile has twice",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    mutators:
    - {image: set-labels, configMap: &v {a: b}}
    - {image: apply-setters, configMap: *v}
`,
			want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    mutators:
    - {image: set-labels, configMap: &v {a: b}}
    - {image: apply-setters, configMap: {a: b, project-id: mine}}
`,
		},
	}
	evaluateAll(t, "set-project-id", cases)
	evaluateTwice(t, "set-project-id", cases)
}

func TestSetProjectIDErrors(t *testing.T) {
	t.Parallel()
	cases := []evaluation{
		{
			name: "no functionConfig",
			items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {project-id: other}
    # setters
    - image: ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2
      configMap:
        a: b # first
`,
			want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {project-id: other}
    # setters
    - image: ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2
      configMap:
        a: b # first
results:
- message: 'failed to set project-id: data.project-id of the functionConfig must be given'
  severity: error
`,
			err: failed,
		},
		{
			name: "an empty project",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: ''}
`,
			items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {project-id: other}
    # setters
    - image: ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2
      configMap:
        a: b # first
`,
			want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {project-id: other}
    # setters
    - image: ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2
      configMap:
        a: b # first
results:
- message: 'failed to set project-id: data.project-id of the functionConfig must be given'
  severity: error
`,
			err: failed,
		},
		{
			name: "no Kptfile",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			items: `
- {apiVersion: storage.cnrm.cloud.google.com/v1beta1, kind: StorageBucket, metadata: {name: c}}
`,
			want: `
items:
- {apiVersion: storage.cnrm.cloud.google.com/v1beta1, kind: StorageBucket, metadata: {name: c}}
results:
- message: 'failed to set project-id setter: failed to find Kptfile: unable to find Kptfile, please include --include-meta-resources flag if a Kptfile is present'
  severity: error
`,
			err: failed,
		},
		{
			name: "no items",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			want: `
results:
- message: 'failed to set project-id setter: failed to find Kptfile: unable to find Kptfile, please include --include-meta-resources flag if a Kptfile is present'
  severity: error
`,
			err: failed,
		},
		{
			name: "no file of values",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline: {mutators: [{image: apply-setters, configPath: setters.yaml}]}
`,
			want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline: {mutators: [{image: apply-setters, configPath: setters.yaml}]}
results:
- message: 'failed to set project-id setter: error updating Kptfile: failed to find setter file: file setters.yaml doesn''t exist, please ensure the file specified in "configPath" exists and retry'
  severity: error
`,
			err: failed,
		},
		{
			name: "neither values nor a file",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline: {mutators: [{image: apply-setters}]}
`,
			want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline: {mutators: [{image: apply-setters}]}
results:
- message: 'failed to set project-id setter: error updating Kptfile: unable to find ` + "`" + `ConfigMap` + "`" + ` or ` + "`" + `configPath` + "`" + ` as the ` + "`" + `functionConfig` + "`" + ` for apply-setters'
  severity: error
`,
			err: failed,
		},
		{
			name: "an unknown field in the Kptfile",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipelines: {}
`,
			want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipelines: {}
results:
- message: 'failed to set project-id setter: error updating Kptfile: error reading Kptfile at ".": yaml: unmarshal errors: line 4: field pipelines not found in type v1.KptFile'
  severity: error
`,
			err: failed,
		},
		{
			name: "a Kptfile from before",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			items: `
- apiVersion: kpt.dev/v1alpha1
  kind: Kptfile
  metadata: {name: k}
`,
			want: `
items:
- apiVersion: kpt.dev/v1alpha1
  kind: Kptfile
  metadata: {name: k}
results:
- message: 'failed to set project-id setter: error updating Kptfile: error reading Kptfile at ".": old resource version "v1alpha1" found in Kptfile'
  severity: error
`,
			err: failed,
		},
		{
			name: "data that is no map",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline: {mutators: [{image: apply-setters, configPath: setters.yaml}]}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: s, annotations: {config.kubernetes.io/path: setters.yaml}}, data: x}
`,
			want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline: {mutators: [{image: apply-setters, configPath: setters.yaml}]}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: s, annotations: {config.kubernetes.io/path: setters.yaml}}, data: x}
results:
- message: 'failed to set project-id setter: error updating Kptfile: file setters.yaml: wrong Node Kind for data expected: MappingNode was ScalarNode: value: {x}'
  severity: error
`,
			err: failed,
		},
		{
			name: "annotations that are none",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {project-id: other}
    # setters
    - image: ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2
      configMap:
        a: b # first
- {apiVersion: storage.cnrm.cloud.google.com/v1beta1, kind: StorageBucket, metadata: {name: c, annotations: [x]}}
- {apiVersion: storage.cnrm.cloud.google.com/v1beta1, kind: StorageBucket, metadata: {name: d}}
`,
			want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap: {project-id: other}
    # setters
    - image: ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2
      configMap:
        a: b # first
        project-id: mine
- {apiVersion: storage.cnrm.cloud.google.com/v1beta1, kind: StorageBucket, metadata: {name: c, annotations: [x]}}
- {apiVersion: storage.cnrm.cloud.google.com/v1beta1, kind: StorageBucket, metadata: {name: d, annotations: {cnrm.cloud.google.com/project-id: mine}}}
results:
- file:
    index: -1
  message: 'wrong Node Kind for annotations expected: MappingNode was SequenceNode: value: {[x]}'
  resourceRef:
    name: c
    apiVersion: storage.cnrm.cloud.google.com/v1beta1
    kind: StorageBucket
  severity: error
`,
			err: failed,
		},
	}
	evaluateAll(t, "set-project-id", cases)
}

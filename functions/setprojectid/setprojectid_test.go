// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package setprojectid

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestSetProjectID(t *testing.T) {
	t.Parallel()
	cases := []functiontest.Case{
		{
			Name: "a setter and resources",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			Items: `
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
			Want: `
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
- apiVersion: storage.cnrm.cloud.google.com/v1beta1
  kind: StorageBucket
  metadata:
    name: b # mine
    annotations:
      cnrm.cloud.google.com/project-id: mine
- {apiVersion: storage.cnrm.cloud.google.com/v1beta1, kind: StorageBucket, metadata: {name: c, annotations: {a: b, cnrm.cloud.google.com/project-id: mine}}}
- {apiVersion: storage.cnrm.cloud.google.com/v1beta1, kind: StorageBucket, metadata: {name: d, annotations: {cnrm.cloud.google.com/project-id: theirs}}}
- {apiVersion: core.cnrm.cloud.google.com/v1beta1, kind: ConfigConnector, metadata: {name: e}}
- {apiVersion: storage.cnrm.cloud.google.com.example.com/v1, kind: StorageBucket, metadata: {name: f}}
`,
		},
		{
			Name: "a setter with a value",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			Items: `
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
			Want: `
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
			Name: "an empty setter",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			Items: `
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
			Want: `
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
			Name: "no pipeline",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			Items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  info: {description: x} # kept
`,
			Want: `
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
			Name: "no step for setters",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			Items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    validators:
    - image: kubeconform:v0.1
    mutators: []
`,
			Want: `
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
			Name: "values in a file",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			Items: `
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
			Want: `
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
			Name: "values in a file of each package",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			Items: `
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
			Want: `
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
			Name: "another kind of functionConfig",
			Config: `
apiVersion: example.com/v1
kind: Frog
data: {project-id: 5}
`,
			Items: `
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
			Want: `
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
			Name: "duplicate values in the Kptfile",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			Items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline:
    mutators:
    - {image: set-labels, configMap: &v {a: b}}
    - {image: apply-setters, configMap: *v}
`,
			Want: `
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
	functiontest.EvaluateAll(t, Function, cases)
	functiontest.EvaluateTwice(t, Function, cases)
}

func TestSetProjectIDErrors(t *testing.T) {
	t.Parallel()
	cases := []functiontest.Case{
		{
			Name: "no functionConfig",
			Items: `
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
			Want: `
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
			Err: functiontest.Failed,
		},
		{
			Name: "an empty project",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: ''}
`,
			Items: `
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
			Want: `
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
			Err: functiontest.Failed,
		},
		{
			Name: "no Kptfile",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			Items: `
- {apiVersion: storage.cnrm.cloud.google.com/v1beta1, kind: StorageBucket, metadata: {name: c}}
`,
			Want: `
items:
- {apiVersion: storage.cnrm.cloud.google.com/v1beta1, kind: StorageBucket, metadata: {name: c}}
results:
- message: 'failed to set project-id setter: failed to find Kptfile: unable to find Kptfile, please include --include-meta-resources flag if a Kptfile is present'
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
data: {project-id: mine}
`,
			Want: `
results:
- message: 'failed to set project-id setter: failed to find Kptfile: unable to find Kptfile, please include --include-meta-resources flag if a Kptfile is present'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "missing values file",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			Items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline: {mutators: [{image: apply-setters, configPath: setters.yaml}]}
`,
			Want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline: {mutators: [{image: apply-setters, configPath: setters.yaml}]}
results:
- message: 'failed to set project-id setter: error updating Kptfile: failed to find setter file: file setters.yaml doesn''t exist, please ensure the file specified in "configPath" exists and retry'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "neither values nor a file",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			Items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline: {mutators: [{image: apply-setters}]}
`,
			Want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline: {mutators: [{image: apply-setters}]}
results:
- message: 'failed to set project-id setter: error updating Kptfile: unable to find ` + "`" + `ConfigMap` + "`" + ` or ` + "`" + `configPath` + "`" + ` as the ` + "`" + `functionConfig` + "`" + ` for apply-setters'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "an unknown field in the Kptfile",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			Items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipelines: {}
`,
			Want: `
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipelines: {}
results:
- message: 'failed to set project-id setter: error updating Kptfile: error reading Kptfile at ".": yaml: unmarshal errors: line 4: field pipelines not found in type v1.KptFile'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a Kptfile from before",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			Items: `
- apiVersion: kpt.dev/v1alpha1
  kind: Kptfile
  metadata: {name: k}
`,
			Want: `
items:
- apiVersion: kpt.dev/v1alpha1
  kind: Kptfile
  metadata: {name: k}
results:
- message: 'failed to set project-id setter: error updating Kptfile: error reading Kptfile at ".": old resource version "v1alpha1" found in Kptfile'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "data is not a map",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			Items: `
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k}
  pipeline: {mutators: [{image: apply-setters, configPath: setters.yaml}]}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: s, annotations: {config.kubernetes.io/path: setters.yaml}}, data: x}
`,
			Want: `
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
			Err: functiontest.Failed,
		},
		{
			Name: "annotations is not a map",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {project-id: mine}
`,
			Items: `
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
			Want: `
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
			Err: functiontest.Failed,
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
}

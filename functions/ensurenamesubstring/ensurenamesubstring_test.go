// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package ensurenamesubstring

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestEnsureNameSubstring(t *testing.T) {
	t.Parallel()
	cases := []functiontest.Case{
		{
			Name: "names, with quotes, comments, flow and paths kept",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			Items: `
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: 'a' # kpt-set: ${a}
    annotations:
      internal.config.kubernetes.io/seqindent: 'wide'
      internal.config.kubernetes.io/path: 'a.yaml'
      config.kubernetes.io/path: 'a.yaml'
      config.kubernetes.io/local-config: 'true'
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b-pre-b}} # has it
- {apiVersion: v1, kind: Secret, metadata: {name: "1"}}
`,
			Want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: 'pre-a' # kpt-set: ${a}
    annotations:
      internal.config.kubernetes.io/seqindent: 'wide'
      internal.config.kubernetes.io/path: 'a.yaml'
      config.kubernetes.io/path: 'a.yaml'
      config.kubernetes.io/local-config: 'true'
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b-pre-b}} # has it
- {apiVersion: v1, kind: Secret, metadata: {name: "pre-1"}}
`,
		},
		{
			Name: "append",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {append: -1}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a-1}}
`,
		},
		{
			Name: "kinds that keep their names",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			Items: `
- {apiVersion: v1, kind: Namespace, metadata: {name: a}}
- {apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: a}}
- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}}
- {apiVersion: example.com/v1, kind: CustomResourceDefinition, metadata: {name: a}}
- {apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}, spec: {service: {name: s, namespace: n}}}
- {apiVersion: example.com/v1, kind: APIService, metadata: {name: a}}
- {apiVersion: v1, kind: Service, metadata: {name: s}}
`,
			Want: `
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: a}}
- {apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: a}}
- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}}
- {apiVersion: example.com/v1, kind: CustomResourceDefinition, metadata: {name: a}}
- {apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}, spec: {service: {name: pre-s, namespace: n}}}
- {apiVersion: example.com/v1, kind: APIService, metadata: {name: pre-a}}
- {apiVersion: v1, kind: Service, metadata: {name: pre-s}}
`,
		},
		{
			Name: "additional fields",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: EnsureNameSubstring
metadata: {name: c}
substring: -x
editMode: append
additionalNameFields:
- {kind: Frog, path: spec/pond/name}
- {kind: Frog, path: spec/made/name, create: true}
- {group: other.com, path: spec/pond/name}
- {kind: Frog, path: spec/list/name}
`,
			Items: `
- apiVersion: example.com/v1
  kind: Frog
  metadata: {name: f}
  spec:
    pond: {name: "p"} # wet
    list:
    - name: a
    - name: a-x
    - other: b
- apiVersion: example.com/v1
  kind: Toad
  metadata: {name: t}
  spec: {pond: {name: p}}
`,
			Want: `
items:
- apiVersion: example.com/v1
  kind: Frog
  metadata: {name: f-x}
  spec:
    pond: {name: "p-x"} # wet
    list:
    - name: a-x
    - name: a-x
    - other: b
    made:
      name: -x
- apiVersion: example.com/v1
  kind: Toad
  metadata: {name: t-x}
  spec: {pond: {name: p}}
`,
		},
		{
			Name: "fields by their old name",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: EnsureNameSubstring
metadata: {name: c}
substring: x-
fieldSpecs:
- {kind: Frog, path: spec/name}
`,
			Items: `
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: f}, spec: {name: ~}}
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: g}, spec: {name: 5}}
`,
			Want: `
items:
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: x-f}, spec: {name: ~}}
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: x-g}, spec: {name: x-5}}
`,
		},
		{
			Name: "depends-on annotation",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: pre-b}}
- {apiVersion: v1, kind: Namespace, metadata: {name: n}}
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: one
    annotations:
      config.kubernetes.io/depends-on: '/namespaces/elsewhere/ConfigMap/a' # kept
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: pre-two
    annotations: {config.kubernetes.io/depends-on: "/namespaces/n/ConfigMap/a, apps/namespaces/n/Deployment/one,/Namespace/n"}
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: three
    annotations: {config.kubernetes.io/depends-on: "/namespaces/n/ConfigMap/pre-b,/ConfigMap/a,apps/ConfigMap/a,/namespaces/n/ConfigMap/z,a"}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: pre-a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: pre-b}}
- {apiVersion: v1, kind: Namespace, metadata: {name: n}}
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: pre-one
    annotations:
      config.kubernetes.io/depends-on: '/namespaces/elsewhere/ConfigMap/pre-a' # kept
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: pre-two
    annotations: {config.kubernetes.io/depends-on: "/namespaces/n/ConfigMap/pre-a, apps/namespaces/n/Deployment/pre-one,/Namespace/n"}
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: pre-three
    annotations: {config.kubernetes.io/depends-on: "/namespaces/n/ConfigMap/pre-b,/ConfigMap/pre-a,apps/ConfigMap/a,/namespaces/n/ConfigMap/z,a"}
`,
		},
		{
			Name: "an alias of the name",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			Items: `
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: &n a}
  data: {n: *n}
`,
			Want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: &n pre-a}
  data: {n: a}
`,
		},
		{
			Name: "no items",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			Want: `
`,
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
	functiontest.EvaluateTwice(t, Function, cases)
}

func TestEnsureNameSubstringErrors(t *testing.T) {
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
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: substring must not be empty'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "no data",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: only 1 entry is allowed in the ConfigMap, but got: 0'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "two values",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: a, append: b}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: only 1 entry is allowed in the ConfigMap, but got: 2'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "an empty substring",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: ''}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: substring must not be empty'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "another mode",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {foo: a}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: unknown editMode: foo, only prepend and append are allowed'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "another mode of the typed form",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: EnsureNameSubstring
metadata: {name: c}
substring: a
editMode: foo
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: unknown editMode: foo, only prepend and append are allowed'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "no substring",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: EnsureNameSubstring
metadata: {name: c}
editMode: append
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: substring must not be empty'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "both lists of fields",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: EnsureNameSubstring
metadata: {name: c}
substring: a
fieldSpecs: [{path: a}]
additionalNameFields: [{path: a}]
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: ` + "`" + `fieldSpecs` + "`" + ` has been deprecated, please rename it to ` + "`" + `additionalNameFields` + "`" + `'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a list for a substring",
			Config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: EnsureNameSubstring
metadata: {name: c}
substring: [a]
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: yaml: unmarshal errors: line 9: cannot unmarshal !!seq into string'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "another kind",
			Config: `
apiVersion: foo/v1
kind: Bar
metadata: {name: c}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: function config must be either /v1, Kind=ConfigMap or fn.kpt.dev/v1alpha1, Kind=EnsureNameSubstring, but we got: foo/v1, Kind=Bar'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "another core kind",
			Config: `
apiVersion: v1
kind: Bar
metadata: {name: c}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: function config must be either /v1, Kind=ConfigMap or fn.kpt.dev/v1alpha1, Kind=EnsureNameSubstring, but we got: /v1, Kind=Bar'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a functionConfig without a name",
			Config: `
apiVersion: v1
kind: ConfigMap
data: {prepend: a}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: missing metadata.name in object {{v1 ConfigMap} {{ } map[] map[]}}'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "the same resource twice",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to convert items to resource map: may not add resource with an already registered id: ~G_v1_ConfigMap|~X|a'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "an existing name",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: pre-a}}
- {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {volumes: [{configMap: {name: a}}]}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: pre-a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: pre-a}}
- {apiVersion: v1, kind: Pod, metadata: {name: pre-p}, spec: {volumes: [{configMap: {name: a}}]}}
results:
- message: 'failed to rename items, because two would have the same identity: may not add resource with an already registered id: ~G_v1_ConfigMap|~X|pre-a'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a resource without a name",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {namespace: a}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {namespace: a}}
results:
- message: 'failed to convert items to resource map: missing metadata.name in object {{v1 ConfigMap} {{ a} map[] map[]}}'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "a resource with an invalid structure",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: text}
- {apiVersion: v1, kind: Pod, metadata: {name: q}, spec: {volumes: [{configMap: {name: a}}]}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: pre-a}}
- {apiVersion: v1, kind: Pod, metadata: {name: pre-p}, spec: text}
- {apiVersion: v1, kind: Pod, metadata: {name: pre-q}, spec: {volumes: [{configMap: {name: pre-a}}]}}
results:
- file:
    index: -1
  message: 'considering field ''spec/volumes/configMap/name'' of object Pod.v1.[noGrp]/pre-p.[noNs]: expected sequence or mapping node'
  resourceRef:
    name: pre-p
    apiVersion: v1
    kind: Pod
  severity: error
`,
			Err: functiontest.Failed,
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
}

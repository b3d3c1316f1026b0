// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import "testing"

func TestEnsureNameSubstring(t *testing.T) {
	t.Parallel()
	cases := []evaluation{
		{
			name: "names, with quotes, comments, flow and paths kept",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			items: `
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
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b-pre-b}} # has it
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: 'pre-a' # kpt-set: ${a}
    annotations:
      internal.config.kubernetes.io/seqindent: 'wide'
      internal.config.kubernetes.io/path: 'a.yaml'
      config.kubernetes.io/path: 'a.yaml'
      config.kubernetes.io/local-config: 'true'
- {apiVersion: v1, kind: Secret, metadata: {name: "pre-1"}}
`,
		},
		{
			name: "append",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {append: -1}
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a-1}}
`,
		},
		{
			name: "kinds that keep their names",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			items: `
- {apiVersion: v1, kind: Namespace, metadata: {name: a}}
- {apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: a}}
- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}}
- {apiVersion: example.com/v1, kind: CustomResourceDefinition, metadata: {name: a}}
- {apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}, spec: {service: {name: s, namespace: n}}}
- {apiVersion: example.com/v1, kind: APIService, metadata: {name: a}}
- {apiVersion: v1, kind: Service, metadata: {name: s}}
`,
			want: `
items:
- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}}
- {apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}, spec: {service: {name: pre-s, namespace: n}}}
- {apiVersion: example.com/v1, kind: APIService, metadata: {name: pre-a}}
- {apiVersion: example.com/v1, kind: CustomResourceDefinition, metadata: {name: a}}
- {apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: a}}
- {apiVersion: v1, kind: Namespace, metadata: {name: a}}
- {apiVersion: v1, kind: Service, metadata: {name: pre-s}}
`,
		},
		{
			name: "fields of the user's own",
			config: `
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
			items: `
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
			want: `
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
			name: "fields by their former name",
			config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: EnsureNameSubstring
metadata: {name: c}
substring: x-
fieldSpecs:
- {kind: Frog, path: spec/name}
`,
			items: `
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: f}, spec: {name: ~}}
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: g}, spec: {name: 5}}
`,
			want: `
items:
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: x-f}, spec: {name: ~}}
- {apiVersion: example.com/v1, kind: Frog, metadata: {name: x-g}, spec: {name: x-5}}
`,
		},
		{
			name: "what a resource waits for",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			items: `
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
			want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: pre-one
    annotations:
      config.kubernetes.io/depends-on: '/namespaces/elsewhere/ConfigMap/pre-a' # kept
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: pre-three
    annotations: {config.kubernetes.io/depends-on: "/namespaces/n/ConfigMap/pre-b,/ConfigMap/pre-a,apps/ConfigMap/a,/namespaces/n/ConfigMap/z,a"}
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: pre-two
    annotations: {config.kubernetes.io/depends-on: "/namespaces/n/ConfigMap/pre-a, apps/namespaces/n/Deployment/pre-one,/Namespace/n"}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: pre-a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: pre-b}}
- {apiVersion: v1, kind: Namespace, metadata: {name: n}}
`,
		},
		{
			name: "an alias of the name",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			items: `
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: &n a}
  data: {n: *n}
`,
			want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: &n pre-a}
  data: {n: a}
`,
		},
		{
			name: "no items",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			want: `
`,
		},
	}
	evaluateAll(t, "ensure-name-substring", cases)
	evaluateTwice(t, "ensure-name-substring", cases)
}

func TestEnsureNameSubstringErrors(t *testing.T) {
	t.Parallel()
	cases := []evaluation{
		{
			name: "no functionConfig",
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: substring must not be empty'
  severity: error
`,
			err: failed,
		},
		{
			name: "no data",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {}
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: only 1 entry is allowed in the ConfigMap, but got: 0'
  severity: error
`,
			err: failed,
		},
		{
			name: "two values",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: a, append: b}
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: only 1 entry is allowed in the ConfigMap, but got: 2'
  severity: error
`,
			err: failed,
		},
		{
			name: "an empty substring",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: ''}
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: substring must not be empty'
  severity: error
`,
			err: failed,
		},
		{
			name: "another mode",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {foo: a}
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: unknown editMode: foo, only prepend and append are allowed'
  severity: error
`,
			err: failed,
		},
		{
			name: "another mode of the typed form",
			config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: EnsureNameSubstring
metadata: {name: c}
substring: a
editMode: foo
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: unknown editMode: foo, only prepend and append are allowed'
  severity: error
`,
			err: failed,
		},
		{
			name: "no substring",
			config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: EnsureNameSubstring
metadata: {name: c}
editMode: append
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: substring must not be empty'
  severity: error
`,
			err: failed,
		},
		{
			name: "both lists of fields",
			config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: EnsureNameSubstring
metadata: {name: c}
substring: a
fieldSpecs: [{path: a}]
additionalNameFields: [{path: a}]
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: ` + "`" + `fieldSpecs` + "`" + ` has been deprecated, please rename it to ` + "`" + `additionalNameFields` + "`" + `'
  severity: error
`,
			err: failed,
		},
		{
			name: "a list for a substring",
			config: `
apiVersion: fn.kpt.dev/v1alpha1
kind: EnsureNameSubstring
metadata: {name: c}
substring: [a]
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: yaml: unmarshal errors: line 9: cannot unmarshal !!seq into string'
  severity: error
`,
			err: failed,
		},
		{
			name: "another kind",
			config: `
apiVersion: foo/v1
kind: Bar
metadata: {name: c}
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: function config must be either /v1, Kind=ConfigMap or fn.kpt.dev/v1alpha1, Kind=EnsureNameSubstring, but we got: foo/v1, Kind=Bar'
  severity: error
`,
			err: failed,
		},
		{
			name: "another core kind",
			config: `
apiVersion: v1
kind: Bar
metadata: {name: c}
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: function config must be either /v1, Kind=ConfigMap or fn.kpt.dev/v1alpha1, Kind=EnsureNameSubstring, but we got: /v1, Kind=Bar'
  severity: error
`,
			err: failed,
		},
		{
			name: "a functionConfig without a name",
			config: `
apiVersion: v1
kind: ConfigMap
data: {prepend: a}
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to load the ` + "`" + `functionConfig` + "`" + `: missing metadata.name in object {{v1 ConfigMap} {{ } map[] map[]}}'
  severity: error
`,
			err: failed,
		},
		{
			name: "the same resource twice",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
results:
- message: 'failed to convert items to resource map: may not add resource with an already registered id: ~G_v1_ConfigMap|~X|a'
  severity: error
`,
			err: failed,
		},
		{
			name: "a name that there is",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: pre-a}}
- {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {volumes: [{configMap: {name: a}}]}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: pre-a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: pre-a}}
- {apiVersion: v1, kind: Pod, metadata: {name: pre-p}, spec: {volumes: [{configMap: {name: a}}]}}
results:
- message: 'failed to rename items, of which two would be the same: may not add resource with an already registered id: ~G_v1_ConfigMap|~X|pre-a'
  severity: error
`,
			err: failed,
		},
		{
			name: "a resource without a name",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {namespace: a}}
`,
			want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {namespace: a}}
results:
- message: 'failed to convert items to resource map: missing metadata.name in object {{v1 ConfigMap} {{ a} map[] map[]}}'
  severity: error
`,
			err: failed,
		},
		{
			name: "a resource that is not as its kind is",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: text}
- {apiVersion: v1, kind: Pod, metadata: {name: q}, spec: {volumes: [{configMap: {name: a}}]}}
`,
			want: `
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
			err: failed,
		},
	}
	evaluateAll(t, "ensure-name-substring", cases)
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import "testing"

func TestSetNamespace(t *testing.T) {
	t.Parallel()
	const toNew = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {namespace: new}\n"
	evaluateAll(t, "set-namespace", []evaluation{
		{
			name:   "namespaces, references to them and dependencies on them",
			config: toNew,
			items: `
- apiVersion: v1
  kind: Namespace
  metadata:
    name: old # the namespace
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: quoted
    namespace: "old" # keep
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: none}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: is, namespace: new}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: local, annotations: {config.kubernetes.io/local-config: "true"}}
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: d
    namespace: old
    annotations: {config.kubernetes.io/depends-on: /namespaces/old/ConfigMap/quoted}
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: e
    namespace: old
    annotations: {config.kubernetes.io/depends-on: /namespaces/old/ConfigMap/elsewhere}
- apiVersion: example.com/v1
  kind: Frog
  metadata: {name: cluster}
- apiVersion: example.com/v1
  kind: Frog
  metadata: {name: namespaced, namespace: pond}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: r, namespace: old}
  subjects:
  - {kind: ServiceAccount, name: s, namespace: old}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRoleBinding
  metadata: {name: r}
  subjects:
  - {kind: ServiceAccount, name: s, namespace: old}
  - {kind: Group, name: g}
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: with}
  spec:
    conversion:
      webhook:
        clientConfig: {service: {name: s, namespace: old}}
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: without}
  spec: {}
- apiVersion: apiregistration.k8s.io/v1
  kind: APIService
  metadata: {name: with}
  spec: {service: {name: s, namespace: old}}
- apiVersion: apiregistration.k8s.io/v1
  kind: APIService
  metadata: {name: without}
  spec: {version: v1}
`,
			want: `
items:
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: with}
  spec:
    conversion:
      webhook:
        clientConfig: {service: {name: s, namespace: new}}
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: without}
  spec: {}
- apiVersion: apiregistration.k8s.io/v1
  kind: APIService
  metadata: {name: with}
  spec: {service: {name: s, namespace: new}}
- apiVersion: apiregistration.k8s.io/v1
  kind: APIService
  metadata: {name: without}
  spec: {version: v1}
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: d
    namespace: new
    annotations: {config.kubernetes.io/depends-on: /namespaces/new/ConfigMap/quoted}
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: e
    namespace: new
    annotations: {config.kubernetes.io/depends-on: /namespaces/old/ConfigMap/elsewhere}
- apiVersion: example.com/v1
  kind: Frog
  metadata: {name: cluster}
- apiVersion: example.com/v1
  kind: Frog
  metadata: {name: namespaced, namespace: new}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRoleBinding
  metadata: {name: r}
  subjects:
  - {kind: ServiceAccount, name: s, namespace: new}
  - {kind: Group, name: g}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: r, namespace: new}
  subjects:
  - {kind: ServiceAccount, name: s, namespace: old}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: local, annotations: {config.kubernetes.io/local-config: "true"}}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: is, namespace: new}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: none, namespace: new}
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: quoted
    namespace: "new" # keep
- apiVersion: v1
  kind: Namespace
  metadata:
    name: new # the namespace
results:
- message: namespace [default old pond] updated to "new", 10 value(s) changed
  severity: info
- message: '` + "`depends-on`" + ` annotation namespace [old] updated to "new", 1 value(s) changed'
  severity: info
`,
		},
		{
			name:   "a matcher, of namespaces and of origins",
			config: "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetNamespace\nnamespace: new\nnamespaceMatcher: old\n",
			items: `
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a, namespace: old}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: b, namespace: other}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c}
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: d
    namespace: mine
    annotations: {internal.kpt.dev/upstream-identifier: '|ConfigMap|old|d'}
`,
			want: `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, namespace: default}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a, namespace: new}
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: d
    namespace: new
    annotations: {internal.kpt.dev/upstream-identifier: '|ConfigMap|old|d'}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: b, namespace: other}
results:
- message: '[Resource(apiVersion=v1, kind=ConfigMap, namespace=old, name=a)] has matching origin old'
  severity: info
- message: '[Resource(apiVersion=v1, kind=ConfigMap, namespace=mine, name=d)] has matching origin old'
  severity: info
- message: namespace [mine old] updated to "new", 2 value(s) changed
  severity: info
- message: all ` + "`depends-on` annotations are up-to-date. no `namespace`" + ` changed
  severity: info
`,
		},
		{
			name:   "the package context",
			config: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kptfile.kpt.dev}\ndata: {name: new}\n",
			items:  "- {apiVersion: v1, kind: Pod, metadata: {name: p}}\n",
			want: `
items:
- {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: new}}
results:
- message: namespace [default] updated to "new", 1 value(s) changed
  severity: info
- message: all ` + "`depends-on` annotations are up-to-date. no `namespace`" + ` changed
  severity: info
`,
		},
		{
			name:   "no items",
			config: toNew,
			want: `
results:
- message: all matching namespaces are already "new". no value changed
  severity: info
- message: all ` + "`depends-on` annotations are up-to-date. no `namespace`" + ` changed
  severity: info
`,
		},
		{
			name:   "a namespace that YAML 1.1 takes for a boolean",
			config: "apiVersion: v1\nkind: ConfigMap\ndata: {namespace: 'no'}\n",
			items: `
- {apiVersion: v1, kind: Namespace, metadata: {name: x}}
- {apiVersion: v1, kind: Pod, metadata: {name: no}, spec: {x: no}}
`,
			want: `
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: "no"}}
- {apiVersion: v1, kind: Pod, metadata: {name: no, namespace: "no"}, spec: {x: no}}
results:
- message: namespace [default x] updated to "no", 2 value(s) changed
  severity: info
- message: all ` + "`depends-on` annotations are up-to-date. no `namespace`" + ` changed
  severity: info
`,
		},
	})
}

func TestSetNamespaceErrors(t *testing.T) {
	t.Parallel()
	const toNew = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {namespace: new}\n"
	evaluateAll(t, "set-namespace", []evaluation{
		{
			name: "no functionConfig",
			want: `
results:
- file:
    index: -1
  message: FunctionConfig is missing. Expect ` + "`ConfigMap.v1` or `SetNamespace.v1alpha1.fn.kpt.dev`" + `
  resourceRef: {}
  severity: error
`,
			err: failed,
		},
		{
			name: "no namespace",
			config: `
apiVersion: v1
kind: ConfigMap
metadata:
  name: c
  namespace: ns
  annotations: {internal.config.kubernetes.io/path: c.yaml, internal.config.kubernetes.io/index: "2"}
data: {}
`,
			want: `
results:
- file:
    index: 2
    path: c.yaml
  message: '` + "`data.namespace`" + ` should not be empty'
  resourceRef:
    name: c
    namespace: ns
    apiVersion: v1
    kind: ConfigMap
  severity: error
`,
			err: failed,
		},
		{
			name:   "a namespace that is no string",
			config: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {namespace: 12}\n",
			want: `
results:
- file:
    index: -1
  message: failed to parse FunctionConfig as ConfigMap
  resourceRef:
    name: c
    apiVersion: v1
    kind: ConfigMap
  severity: error
`,
			err: failed,
		},
		{
			name:   "an empty SetNamespace",
			config: "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetNamespace\n",
			want: `
results:
- file:
    index: -1
  message: '` + "`namespace`" + ` should not be empty'
  resourceRef:
    apiVersion: fn.kpt.dev/v1alpha1
    kind: SetNamespace
  severity: error
`,
			err: failed,
		},
		{
			name:   "another kind of functionConfig",
			config: "apiVersion: v1\nkind: Secret\n",
			want: `
results:
- file:
    index: -1
  message: unknown functionConfig Kind=Secret ApiVersion=v1, expect ` +
				"`ConfigMap.v1` or `SetNamespace.v1alpha1.fn.kpt.dev`" + `
  resourceRef:
    apiVersion: v1
    kind: Secret
  severity: error
`,
			err: failed,
		},
		{
			name:   "items that the catalog's function panics on, or says to have changed",
			config: toNew,
			items: `
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: a}
  spec: {conversion: x}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: b, annotations: {internal.kpt.dev/upstream-identifier: bad}}
- apiVersion: v1
  kind: ConfigMap
  metadata: x
- apiVersion: v1
  kind: Secret
  metadata: {name: d}
`,
			want: `
items:
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: a}
  spec: {conversion: x}
- apiVersion: v1
  kind: ConfigMap
  metadata: x
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: b, annotations: {internal.kpt.dev/upstream-identifier: bad}}
- apiVersion: v1
  kind: Secret
  metadata: {name: d}
results:
- message: Resource(apiVersion=, kind=CustomResourceDefinition) has unmatched field type "string" in fieldpath .spec.conversion.webhook.clientConfig.service.namespace
  severity: error
- message: 'annotation internal.kpt.dev/upstream-identifier: bad is in bad format. expect "<GROUP>|<KIND>|<NAMESPACE>|<NAME>"'
  severity: error
- message: 'Resource(apiVersion=v1, kind=ConfigMap, namespace=, name=): metadata is not a map'
  severity: error
`,
			err: failed,
		},
	})
}

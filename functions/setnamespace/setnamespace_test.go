// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package setnamespace

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestSetNamespace(t *testing.T) {
	t.Parallel()
	const toNew = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {namespace: new}\n"
	functiontest.EvaluateAll(t, Function, []functiontest.Case{
		{
			Name:   "missing values match anything",
			Config: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {namespace: new}\n",
			Items: `
- {apiVersion: v1, metadata: {name: a}}
- {metadata: {name: b}}
- {kind: Namespace, metadata: {name: c}}
- {kind: CustomResourceDefinition, metadata: {name: d}}
- {apiVersion: example.com/v1, metadata: {name: e, namespace: old}}
- {apiVersion: example.com/v2, metadata: {name: f}}
`,
			Want: `
items:
- {metadata: {name: new}}
- {kind: CustomResourceDefinition, metadata: {name: d}}
- {kind: Namespace, metadata: {name: new}}
- {apiVersion: example.com/v1, metadata: {name: e, namespace: new}}
- {apiVersion: example.com/v2, metadata: {name: f}}
- {apiVersion: v1, metadata: {name: new}}
results:
- message: namespace [a b c old] updated to "new", 4 value(s) changed
  severity: info
- message: all ` + "`depends-on`" + ` annotations are up-to-date. no ` + "`namespace`" + ` changed
  severity: info
`,
		},
		{
			Name:   "namespaces, references to them and dependencies on them",
			Config: toNew,
			Items: `
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
			Want: `
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
			Name:   "a matcher, of namespaces and of origins",
			Config: "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetNamespace\nnamespace: new\nnamespaceMatcher: old\n",
			Items: `
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
			Want: `
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
			Name:   "the package context",
			Config: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kptfile.kpt.dev}\ndata: {name: new}\n",
			Items:  "- {apiVersion: v1, kind: Pod, metadata: {name: p}}\n",
			Want: `
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
			Name:   "no items",
			Config: toNew,
			Want: `
results:
- message: all matching namespaces are already "new". no value changed
  severity: info
- message: all ` + "`depends-on` annotations are up-to-date. no `namespace`" + ` changed
  severity: info
`,
		},
		{
			Name:   "a namespace that is a boolean in YAML 1.1",
			Config: "apiVersion: v1\nkind: ConfigMap\ndata: {namespace: 'no'}\n",
			Items: `
- {apiVersion: v1, kind: Namespace, metadata: {name: x}}
- {apiVersion: v1, kind: Pod, metadata: {name: no}, spec: {x: no}}
`,
			Want: `
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
	functiontest.EvaluateAll(t, Function, []functiontest.Case{
		{
			Name: "no functionConfig",
			Want: `
results:
- file:
    index: -1
  message: FunctionConfig is missing. Expect ` + "`ConfigMap.v1` or `SetNamespace.v1alpha1.fn.kpt.dev`" + `
  resourceRef: {}
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "no namespace",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata:
  name: c
  namespace: ns
  annotations: {internal.config.kubernetes.io/path: c.yaml, internal.config.kubernetes.io/index: "2"}
data: {}
`,
			Want: `
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
			Err: functiontest.Failed,
		},
		{
			Name:   "a namespace is not a string",
			Config: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {namespace: 12}\n",
			Want: `
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
			Err: functiontest.Failed,
		},
		{
			Name:   "an empty SetNamespace",
			Config: "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetNamespace\n",
			Want: `
results:
- file:
    index: -1
  message: '` + "`namespace`" + ` should not be empty'
  resourceRef:
    apiVersion: fn.kpt.dev/v1alpha1
    kind: SetNamespace
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name:   "another kind of functionConfig",
			Config: "apiVersion: v1\nkind: Secret\n",
			Want: `
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
			Err: functiontest.Failed,
		},
		{
			Name:   "items on which the catalog's function panics or reports a false change",
			Config: toNew,
			Items: `
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
			Want: `
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
			Err: functiontest.Failed,
		},
	})
}

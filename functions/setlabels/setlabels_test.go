// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package setlabels

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

const labelConfig = `
apiVersion: v1
kind: ConfigMap
metadata: {name: labels}
data: {z: 1, on: 'y'}
`

func TestSetLabels(t *testing.T) {
	t.Parallel()
	const one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: l}\ndata: {z: '1'}\n"
	functiontest.EvaluateAll(t, Function, []functiontest.Case{
		{
			Name:   "missing values match anything",
			Config: one,
			Items: `
- {apiVersion: v1, metadata: {name: a}}
- {apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: b}}
- {kind: Service, metadata: {name: c}}
- {kind: CronJob, metadata: {name: d}}
- {apiVersion: a/b/c, kind: Frog, metadata: {name: e}}
`,
			Want: `
items:
- {kind: CronJob, metadata: {name: d, labels: {z: "1"}}}
- {kind: Service, metadata: {name: c, labels: {z: "1"}}, spec: {selector: {z: "1"}}}
- {apiVersion: a/b/c, kind: Frog, metadata: {name: e, labels: {z: "1"}}, spec: {selector: {z: "1", matchLabels: {z: "1"}}}}
- {apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: b, labels: {z: "1"}}}
- {apiVersion: v1, metadata: {name: a, labels: {z: "1"}}, spec: {selector: {z: "1", matchLabels: {z: "1"}}}}
results:
- message: set 14 labels in total
  severity: info
`,
		},
		{
			Name:   "values keep quotes and comments, and read back as strings",
			Config: labelConfig,
			Items: `
- apiVersion: example.com/v1
  kind: Frog
  metadata:
    name: f
    labels:
      z: old # keep
      a: 'b'
- apiVersion: example.com/v1
  kind: Frog
  metadata:
    name: g
    labels: {z: "old", on: 'x'} # flow
`,
			Want: `
items:
- apiVersion: example.com/v1
  kind: Frog
  metadata:
    name: f
    labels:
      z: "1" # keep
      a: 'b'
      "on": "y"
- apiVersion: example.com/v1
  kind: Frog
  metadata:
    name: g
    labels: {z: "1", on: 'y'} # flow
results:
- message: set 4 labels in total
  severity: info
`,
		},
		{
			Name:   "selectors and pod templates of workloads",
			Config: one,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: d}
  spec:
    selector: {matchLabels: {app: d}}
    template:
      metadata:
        creationTimestamp: null
      spec:
        affinity:
          podAntiAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
            - labelSelector: {matchLabels: {z: old}}
        topologySpreadConstraints:
        - labelSelector: {matchLabels: {z: old, app: d}}
        - labelSelector: {matchLabels: {app: d}}
        - maxSkew: 1
- apiVersion: batch/v1
  kind: CronJob
  metadata: {name: c}
  spec:
    jobTemplate:
      spec:
        selector: {matchLabels: {z: old}}
        template:
          spec: {}
- apiVersion: batch/v1
  kind: Job
  metadata: {name: j}
  spec:
    selector: {matchLabels: {app: j}}
    template: {}
- apiVersion: v1
  kind: ReplicationController
  metadata: {name: r}
  spec: {}
- apiVersion: v1
  kind: Service
  metadata: {name: s}
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: d, labels: {z: "1"}}
  spec:
    selector: {matchLabels: {app: d, z: "1"}}
    template:
      metadata:
        creationTimestamp: null
        labels:
          z: "1"
      spec:
        affinity:
          podAntiAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
            - labelSelector: {matchLabels: {z: old}}
        topologySpreadConstraints:
        - labelSelector: {matchLabels: {z: "1", app: d}}
        - labelSelector: {matchLabels: {app: d}}
        - maxSkew: 1
- apiVersion: batch/v1
  kind: CronJob
  metadata: {name: c, labels: {z: "1"}}
  spec:
    jobTemplate:
      spec:
        selector: {matchLabels: {z: "1"}}
        template:
          spec: {}
          metadata:
            labels:
              z: "1"
      metadata:
        labels:
          z: "1"
- apiVersion: batch/v1
  kind: Job
  metadata: {name: j, labels: {z: "1"}}
  spec:
    selector: {matchLabels: {app: j}}
    template: {metadata: {labels: {z: "1"}}}
- apiVersion: v1
  kind: Pod
  metadata: {name: p, labels: {z: "1"}}
- apiVersion: v1
  kind: ReplicationController
  metadata: {name: r, labels: {z: "1"}}
  spec: {selector: {z: "1"}}
- apiVersion: v1
  kind: Service
  metadata: {name: s, labels: {z: "1"}}
  spec:
    selector:
      z: "1"
results:
- message: set 18 labels in total
  severity: info
`,
		},
		{
			Name:   "volume claims, disruption budgets and network policies",
			Config: one,
			Items: `
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: s}
  spec:
    volumeClaimTemplates:
    - metadata: {name: v}
      spec: {selector: {matchLabels: {z: old}}}
    - {}
- apiVersion: networking.k8s.io/v1
  kind: NetworkPolicy
  metadata: {name: n}
  spec:
    podSelector: {matchLabels: {z: old}}
    ingress:
    - from:
      - podSelector: {matchLabels: {z: old}}
      - namespaceSelector: {matchLabels: {z: old}}
    - {}
    egress:
    - to:
      - podSelector: {matchLabels: {y: old}}
- apiVersion: policy/v1
  kind: PodDisruptionBudget
  metadata: {name: p}
  spec:
    selector: {matchLabels: {z: old}}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: s, labels: {z: "1"}}
  spec:
    volumeClaimTemplates:
    - metadata: {name: v, labels: {z: "1"}}
      spec: {selector: {matchLabels: {z: old}}}
    - {metadata: {labels: {z: "1"}}}
    selector:
      matchLabels:
        z: "1"
- apiVersion: networking.k8s.io/v1
  kind: NetworkPolicy
  metadata: {name: n, labels: {z: "1"}}
  spec:
    podSelector: {matchLabels: {z: "1"}}
    ingress:
    - from:
      - podSelector: {matchLabels: {z: "1"}}
      - namespaceSelector: {matchLabels: {z: old}}
    - {}
    egress:
    - to:
      - podSelector: {matchLabels: {y: old}}
- apiVersion: policy/v1
  kind: PodDisruptionBudget
  metadata: {name: p, labels: {z: "1"}}
  spec:
    selector: {matchLabels: {z: "1"}}
results:
- message: set 13 labels in total
  severity: info
`,
		},
		{
			Name:   "kinds of other groups and local configuration",
			Config: one,
			Items: `
- apiVersion: serving.knative.dev/v1
  kind: Service
  metadata: {name: s}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, annotations: {config.kubernetes.io/local-config: "yes"}}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: d, annotations: {config.kubernetes.io/local-config: "false"}}
`,
			Want: `
items:
- apiVersion: serving.knative.dev/v1
  kind: Service
  metadata: {name: s, labels: {z: "1"}}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, annotations: {config.kubernetes.io/local-config: "yes"}}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: d, annotations: {config.kubernetes.io/local-config: "false"}, labels: {z: "1"}}
results:
- message: set 2 labels in total
  severity: info
`,
		},
		{
			Name:   "null counts as missing",
			Config: one,
			Items: `
- apiVersion: batch/v1
  kind: CronJob
  metadata:
    name: c
    labels: # here
  spec:
    jobTemplate: null
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: d, labels: null}
  spec:
    template:
      metadata: ~
      spec: {topologySpreadConstraints: null}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: d, labels: {z: "1"}}
  spec:
    template:
      metadata:
        labels:
          z: "1"
      spec: {topologySpreadConstraints: null}
    selector:
      matchLabels:
        z: "1"
- apiVersion: batch/v1
  kind: CronJob
  metadata:
    name: c
    labels: # here
      z: "1"
  spec:
    jobTemplate: null
results:
- message: set 4 labels in total
  severity: info
`,
		},
		{
			Name:   "labels shared through an alias",
			Config: one,
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: d
    labels: &labels
      z: &value old
  spec:
    selector:
      matchLabels: *labels
    template:
      metadata: {labels: *labels}
      spec:
        nodeSelector: *labels
        schedulerName: *value
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: d
    labels: &labels
      z: &value "1"
  spec:
    selector:
      matchLabels:
        z: "1"
    template:
      metadata: {labels: {z: "1"}}
      spec:
        nodeSelector:
          z: old
        schedulerName: old
results:
- message: set 3 labels in total
  severity: info
`,
		},
	})
}

func TestSetLabelsErrors(t *testing.T) {
	t.Parallel()
	const one = "kind: ConfigMap\ndata: {z: '1'}\n"
	functiontest.EvaluateAll(t, Function, []functiontest.Case{
		{
			Name:   "values of the wrong type",
			Config: "apiVersion: fn.kpt.dev/v1\nkind: SetLabels\nlabels: {z: '1'}\n",
			Items: `
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: d}
  spec:
    template:
      metadata: {labels: [a]}
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: s}
  spec:
    volumeClaimTemplates: {a: b}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c}
- apiVersion: v1
  kind: Service
  metadata: {name: s, labels: {z: 2}}
`,
			Want: `
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: d, labels: {z: "1"}}
  spec:
    template:
      metadata: {labels: [a]}
    selector:
      matchLabels:
        z: "1"
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: s, labels: {z: "1"}}
  spec:
    volumeClaimTemplates: {a: b}
    selector:
      matchLabels:
        z: "1"
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, labels: {z: "1"}}
- apiVersion: v1
  kind: Service
  metadata: {name: s, labels: {z: 2}}
results:
- message: Resource(apiVersion=, kind=Deployment) has unmatched field type "string" in fieldpath .spec.template.metadata.labels.z
  severity: error
- message: Resource(apiVersion=, kind=StatefulSet) has unmatched field type "list" in fieldpath .spec.volumeClaimTemplates
  severity: error
- message: Resource(apiVersion=, kind=Service) has unmatched field type "string" in fieldpath .metadata.labels.z
  severity: error
- message: set 5 labels in total
  severity: info
`,
			Err: functiontest.Failed,
		},
		{
			Name:   "another kind of functionConfig",
			Config: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n",
			Want: `
results:
- message: unknown FunctionConfig ` + "`Deployment.apps`, expect `SetLabels.fn.kpt.dev` or `ConfigMap.v1`" + `
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name:   "labels are not strings",
			Config: "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetLabels\nlabels: {z: 1}\n",
			Want: `
results:
- message: 'unable to read the FunctionConfig: labels cannot be a number'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name:   "data is not a map of strings",
			Config: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {z: {a: b}}\n",
			Want: `
results:
- message: data.z of the functionConfig is not a string
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name:  "no functionConfig",
			Items: "- {apiVersion: v1, kind: A, metadata: {name: a}}\n",
			Want: `
items:
- {apiVersion: v1, kind: A, metadata: {name: a}}
results:
- message: '` + "`FunctionConfig`" + ` is not given'
  severity: info
`,
			Err: functiontest.Failed,
		},
		{
			Name:   "kpt's default functionConfig",
			Config: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: function-input}\n",
			Items:  "- {apiVersion: v1, kind: A, metadata: {name: a}}\n",
			Want: `
items:
- {apiVersion: v1, kind: A, metadata: {name: a}}
results:
- message: '` + "`FunctionConfig`" + ` is not given'
  severity: info
`,
			Err: functiontest.Failed,
		},
		{
			Name: "neither functionConfig nor items",
			Want: `
results:
- message: '` + "`FunctionConfig`" + ` is not given'
  severity: info
- message: no input resources
  severity: info
`,
		},
		{
			Name:   "no items",
			Config: one,
			Want:   "results:\n- message: no input resources\n  severity: info\n",
		},
		{
			Name:   "no labels",
			Config: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {}\n",
			Items:  "- {apiVersion: v1, kind: A, metadata: {name: a}}\n",
			Want: `
items:
- {apiVersion: v1, kind: A, metadata: {name: a}}
results:
- message: no ` + "`labels`" + ` arguments are given in FunctionConfig
  severity: warning
`,
		},
	})
}

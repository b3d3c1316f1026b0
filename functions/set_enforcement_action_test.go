// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import "testing"

const dryrunConfig = `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {enforcementAction: dryrun}
`

func TestSetEnforcementAction(t *testing.T) {
	t.Parallel()
	cases := []evaluation{
		{
			name:   "constraints, with quotes and comments kept",
			config: dryrunConfig,
			items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a, annotations: {internal.config.kubernetes.io/path: a.yaml}}
  spec:
    enforcementAction: 'deny' # kept
    match: {kinds: []}
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: b, annotations: {config.kubernetes.io/path: b.yaml, config.kubernetes.io/local-config: 'true'}}
  spec: {match: {}} # flow
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: c, annotations: {internal.config.kubernetes.io/path: c.yaml, config.kubernetes.io/path: c.yaml}}
  spec:
    enforcementAction: [deny]
- apiVersion: constraints.gatekeeper.sh/v1
  kind: K8sRequiredLabels
  metadata: {name: other}
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {namespace: nameless}
`,
			want: `
items:
- apiVersion: constraints.gatekeeper.sh/v1
  kind: K8sRequiredLabels
  metadata: {name: other}
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a, annotations: {internal.config.kubernetes.io/path: a.yaml}}
  spec:
    enforcementAction: 'dryrun' # kept
    match: {kinds: []}
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: b, annotations: {config.kubernetes.io/path: b.yaml, config.kubernetes.io/local-config: 'true'}}
  spec: {match: {}, enforcementAction: dryrun} # flow
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: c, annotations: {internal.config.kubernetes.io/path: c.yaml, config.kubernetes.io/path: c.yaml}}
  spec:
    enforcementAction: dryrun
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {namespace: nameless}
results:
- message: 'Number of policies set to [dryrun]: 3'
  severity: info
- file:
    path: a.yaml
  message: 'Policy name: [a]'
  severity: info
- file:
    path: b.yaml
  message: 'Policy name: [b]'
  severity: info
- file:
    path: c.yaml
  message: 'Policy name: [c]'
  severity: info
`,
		},
		{
			name:   "constraints without a spec",
			config: dryrunConfig,
			items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: b}
  spec: null # none
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: c}
  spec: {}
`,
			want: `
items:
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec:
    enforcementAction: dryrun
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: b}
  spec: # none
    enforcementAction: dryrun
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: c}
  spec: {enforcementAction: dryrun}
results:
- message: 'Number of policies set to [dryrun]: 3'
  severity: info
- message: 'Policy name: [a]'
  severity: info
- message: 'Policy name: [b]'
  severity: info
- message: 'Policy name: [c]'
  severity: info
`,
		},
		{
			name:   "a spec shared through an alias",
			config: dryrunConfig,
			items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  other: &s {enforcementAction: deny}
  spec: *s
`,
			want: `
items:
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  other: &s {enforcementAction: deny}
  spec: {enforcementAction: dryrun}
results:
- message: 'Number of policies set to [dryrun]: 1'
  severity: info
- message: 'Policy name: [a]'
  severity: info
`,
		},
		{
			name: "deny",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {enforcementAction: deny}
`,
			items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
`,
			want: `
items:
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec:
    enforcementAction: deny
results:
- message: 'Number of policies set to [deny]: 1'
  severity: info
- message: 'Policy name: [a]'
  severity: info
`,
		},
		{
			name: "another kind of functionConfig",
			config: `
apiVersion: example.com/v1
kind: Frog
data: {enforcementAction: warn}
`,
			items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
`,
			want: `
items:
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec:
    enforcementAction: warn
results:
- message: 'Number of policies set to [warn]: 1'
  severity: info
- message: 'Policy name: [a]'
  severity: info
`,
		},
		{
			name: "no constraint",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {enforcementAction: warn}
`,
			items: `
- {apiVersion: v1, kind: S, metadata: {name: s}}
`,
			want: `
items:
- {apiVersion: v1, kind: S, metadata: {name: s}}
results:
- message: Found no policy to set to [warn]
  severity: warning
`,
		},
		{
			name: "no items",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {enforcementAction: warn}
`,
			want: `
results:
- message: Found no policy to set to [warn]
  severity: warning
`,
		},
	}
	evaluateAll(t, "set-enforcement-action", cases)
	evaluateTwice(t, "set-enforcement-action", cases)
}

func TestSetEnforcementActionErrors(t *testing.T) {
	t.Parallel()
	evaluateAll(t, "set-enforcement-action", []evaluation{
		{
			name: "no functionConfig",
			items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
`,
			want: `
items:
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
results:
- message: 'failed to process policies: expecting exactly 1 enforcementAction as part of the ConfigMap'
  severity: error
`,
			err: failed,
		},
		{
			name: "no items and no functionConfig",
			want: `
results:
- message: 'failed to process policies: expecting exactly 1 enforcementAction as part of the ConfigMap'
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
data: {enforcementAction: deny, a: b}
`,
			items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
`,
			want: `
items:
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
results:
- message: 'failed to process policies: expecting exactly 1 enforcementAction as part of the ConfigMap'
  severity: error
`,
			err: failed,
		},
		{
			name: "another key",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {action: deny}
`,
			items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
`,
			want: `
items:
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
results:
- message: 'failed to process policies: expected values for enforcementAction are [deny] or [warn] or [dryrun]'
  severity: error
`,
			err: failed,
		},
		{
			name: "another action",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {enforcementAction: scoped}
`,
			items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
`,
			want: `
items:
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
results:
- message: 'failed to process policies: expected values for enforcementAction are [deny] or [warn] or [dryrun]'
  severity: error
`,
			err: failed,
		},
		{
			name: "no text",
			config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {enforcementAction: [deny]}
`,
			items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
`,
			want: `
items:
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
results:
- message: 'failed to process policies: data.enforcementAction of the functionConfig is not a string'
  severity: error
`,
			err: failed,
		},
		{
			name:   "a spec that is no map",
			config: dryrunConfig,
			items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: deny
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: b}
`,
			want: `
items:
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: deny
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: b}
results:
- message: 'failed to process policies: wrong Node Kind for spec expected: MappingNode was ScalarNode: value: {deny}'
  severity: error
`,
			err: failed,
		},
		{
			name:   "a spec that is a list",
			config: dryrunConfig,
			items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: [deny]
`,
			want: `
items:
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: [deny]
results:
- message: 'failed to process policies: wrong Node Kind for spec expected: MappingNode was SequenceNode: value: {[deny]}'
  severity: error
`,
			err: failed,
		},
	})
}

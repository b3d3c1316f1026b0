// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package setenforcementaction

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

const dryrunConfig = `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {enforcementAction: dryrun}
`

func TestSetEnforcementAction(t *testing.T) {
	t.Parallel()
	cases := []functiontest.Case{
		{
			Name:   "constraints, with quotes and comments kept",
			Config: dryrunConfig,
			Items: `
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
			Want: `
items:
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
- apiVersion: constraints.gatekeeper.sh/v1
  kind: K8sRequiredLabels
  metadata: {name: other}
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
			Name:   "constraints without a spec",
			Config: dryrunConfig,
			Items: `
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
			Want: `
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
			Name:   "a spec shared through an alias",
			Config: dryrunConfig,
			Items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  other: &s {enforcementAction: deny}
  spec: *s
`,
			Want: `
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
			Name: "deny",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {enforcementAction: deny}
`,
			Items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
`,
			Want: `
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
			Name: "another kind of functionConfig",
			Config: `
apiVersion: example.com/v1
kind: Frog
data: {enforcementAction: warn}
`,
			Items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
`,
			Want: `
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
			Name: "no constraint",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {enforcementAction: warn}
`,
			Items: `
- {apiVersion: v1, kind: S, metadata: {name: s}}
`,
			Want: `
items:
- {apiVersion: v1, kind: S, metadata: {name: s}}
results:
- message: Found no policy to set to [warn]
  severity: warning
`,
		},
		{
			Name: "no items",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {enforcementAction: warn}
`,
			Want: `
results:
- message: Found no policy to set to [warn]
  severity: warning
`,
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
	functiontest.EvaluateTwice(t, Function, cases)
}

func TestSetEnforcementActionErrors(t *testing.T) {
	t.Parallel()
	functiontest.EvaluateAll(t, Function, []functiontest.Case{
		{
			Name: "no functionConfig",
			Items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
`,
			Want: `
items:
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
results:
- message: 'failed to process policies: expecting exactly 1 enforcementAction as part of the ConfigMap'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "no items and no functionConfig",
			Want: `
results:
- message: 'failed to process policies: expecting exactly 1 enforcementAction as part of the ConfigMap'
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
data: {enforcementAction: deny, a: b}
`,
			Items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
`,
			Want: `
items:
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
results:
- message: 'failed to process policies: expecting exactly 1 enforcementAction as part of the ConfigMap'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "another key",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {action: deny}
`,
			Items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
`,
			Want: `
items:
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
results:
- message: 'failed to process policies: expected values for enforcementAction are [deny] or [warn] or [dryrun]'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "another action",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {enforcementAction: scoped}
`,
			Items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
`,
			Want: `
items:
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
results:
- message: 'failed to process policies: expected values for enforcementAction are [deny] or [warn] or [dryrun]'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name: "no text",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {enforcementAction: [deny]}
`,
			Items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
`,
			Want: `
items:
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: {enforcementAction: deny}
results:
- message: 'failed to process policies: data.enforcementAction of the functionConfig is not a string'
  severity: error
`,
			Err: functiontest.Failed,
		},
		{
			Name:   "spec is not a map",
			Config: dryrunConfig,
			Items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: deny
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: b}
`,
			Want: `
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
			Err: functiontest.Failed,
		},
		{
			Name:   "spec is a list",
			Config: dryrunConfig,
			Items: `
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: [deny]
`,
			Want: `
items:
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sRequiredLabels
  metadata: {name: a}
  spec: [deny]
results:
- message: 'failed to process policies: wrong Node Kind for spec expected: MappingNode was SequenceNode: value: {[deny]}'
  severity: error
`,
			Err: functiontest.Failed,
		},
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !light

package gatekeeper

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bannedKeys is the catalog's example.
const bannedKeys = `
- apiVersion: templates.gatekeeper.sh/v1beta1
  kind: ConstraintTemplate
  metadata: {name: disallowroot}
  spec:
    crd: {spec: {names: {kind: K8sBannedConfigMapKeysV1}, validation: {openAPIV3Schema: {properties: {keys: {type: array}}}}}}
    targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |
        package ban_keys

        violation[{"msg": sprintf("%v", [val])}] {
          keys = {key | input.review.object.data[key]}
          banned = {key | input.parameters.keys[_] = key}
          overlap = keys & banned
          count(overlap) > 0
          val := sprintf("The following banned keys are being used in the ConfigMap: %v", [overlap])
        }
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: K8sBannedConfigMapKeysV1
  metadata: {name: no-secrets-in-configmap}
  spec:
    match: {kinds: [{apiGroups: [""], kinds: [ConfigMap]}]}
    parameters: {keys: [private_key]}
    enforcementAction: ACTION
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: some-secret, namespace: default, annotations: {config.kubernetes.io/path: resources.yaml, config.kubernetes.io/index: '2'}}
  data: {private_key: sensitive}
- {apiVersion: v1, kind: Secret, metadata: {name: other}, data: {private_key: x}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: local, annotations: {config.kubernetes.io/local-config: "true"}}, data: {private_key: x}}
`

func TestGatekeeper(t *testing.T) {
	t.Parallel()
	for action, severity := range map[string]string{"deny": "error", "": "error", "warn": "warning", "dryrun": "info"} {
		items := strings.TrimPrefix(strings.ReplaceAll(bannedKeys, "ACTION", `"`+action+`"`), "\n")
		failed := ""
		if severity == "error" {
			failed = functiontest.Failed
		}
		functiontest.EvaluateAll(t, Function, []functiontest.Case{{Name: action, Items: items, Err: failed, Want: "items:\n" + items + `results:
- file:
    index: 2
    path: resources.yaml
  message: |-
    The following banned keys are being used in the ConfigMap: {"private_key"}
    violatedConstraint: no-secrets-in-configmap
  resourceRef:
    name: some-secret
    namespace: default
    apiVersion: v1
    kind: ConfigMap
  severity: ` + severity + "\n"}})
	}
}

// policyOf returns a template and a constraint of it.
func policyOf(kind, rego, spec string) string {
	return fmt.Sprintf(`
- apiVersion: templates.gatekeeper.sh/v1
  kind: ConstraintTemplate
  metadata: {name: %s}
  spec: {crd: {spec: {names: {kind: %s}}}, targets: [{target: admission.k8s.gatekeeper.sh, %s}]}
- {apiVersion: constraints.gatekeeper.sh/v1beta1, kind: %s, metadata: {name: c}, spec: {%s}}
`, strings.ToLower(kind), kind, rego, kind, spec)
}

// messages runs the function and returns the messages of its results.
func messages(t *testing.T, items string) []string {
	t.Helper()
	rl, err := fn.ParseResourceList([]byte(functiontest.List(strings.TrimPrefix(items, "\n"), "")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gatekeeper(t.Context(), rl); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, result := range rl.Results {
		all = append(all, strings.TrimSuffix(result.Message, "\nviolatedConstraint: c"))
	}
	return all
}

const objects = `
- {apiVersion: v1, kind: Namespace, metadata: {name: prod, labels: {env: prod}}}
- {apiVersion: v1, kind: Namespace, metadata: {name: dev}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: prod, labels: {app: web}}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: dev}}
- {apiVersion: v1, kind: Service, metadata: {name: svc, namespace: unknown}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: role}}
- {apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: pkg}}
`

func TestMatch(t *testing.T) {
	t.Parallel()
	const each = `rego: 'package x violation[{"msg": msg}] { r := input.review; msg := sprintf("%v %v/%v", [r.kind.kind, object.get(r, "namespace", ""), r.name]) }'`
	all := []string{"Namespace /prod", "Namespace /dev", "Deployment prod/web", "Deployment dev/web", "Service unknown/svc", "ClusterRole /role"}
	for match, want := range map[string][]string{
		"{}":            all,
		"{kinds: [{}]}": all,
		"{kinds: [{apiGroups: ['*'], kinds: [Deployment, Service]}]}":                       {all[2], all[3], all[4]},
		"{kinds: [{apiGroups: [apps], kinds: ['*']}, {apiGroups: [''], kinds: [Service]}]}": {all[2], all[3], all[4]},
		"{kinds: [{apiGroups: [''], kinds: [Deployment]}]}":                                 nil,
		"{scope: Namespaced}":                        {all[2], all[3], all[4]},
		"{scope: Cluster}":                           {all[0], all[1], all[5]},
		"{name: 'we*'}":                              {all[2], all[3]},
		"{name: '*e*'}":                              {all[1], all[2], all[3], all[5]},
		"{namespaces: [prod]}":                       {all[0], all[2], all[5]},
		"{namespaces: ['*o*']}":                      {all[0], all[2], all[4], all[5]},
		"{excludedNamespaces: ['*v', prod]}":         {all[4], all[5]},
		"{labelSelector: {matchLabels: {app: web}}}": {all[2]},
		"{labelSelector: {matchExpressions: [{key: app, operator: DoesNotExist}]}}":     {all[0], all[1], all[3], all[4], all[5]},
		"{namespaceSelector: {matchLabels: {env: prod}}}":                               {all[0], all[2], all[5]},
		"{namespaceSelector: {matchExpressions: [{key: env, operator: DoesNotExist}]}}": {all[1], all[3], all[5]},
	} {
		t.Run(match, func(t *testing.T) {
			t.Parallel()
			got := messages(t, policyOf("Each", each, "match: "+match)+strings.TrimPrefix(objects, "\n"))
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("reviewed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRego(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ rego, spec, want string }{
		"a library": {
			rego: `rego: 'package x violation[{"msg": msg}] { msg := data.lib.names.of(input.review) }', ` +
				`libs: ['package lib.names of(r) = n { n := upper(r.name) }']`,
			want: "ROLE",
		},
		"version 1, by engine": {
			rego: `code: [{engine: K8sNativeValidation}, {engine: Rego, source: {version: v1, rego: 'package x violation contains {"msg": "one"} if { input.review.name }'}}]`,
			want: "one",
		},
		"other resources": {
			rego: `rego: 'package x violation[{"msg": msg}] { some ns; data.inventory.namespace[ns]["apps/v1"].Deployment.web; data.inventory.cluster.v1.Namespace[ns].metadata.labels.env; msg := ns }'`,
			want: "prod",
		},
		"large numbers": {
			rego: `rego: 'package x violation[{"msg": msg}] { msg := sprintf("%v", [input.parameters.size]) }'`,
			spec: "parameters: {size: 9007199254740993}, ", want: "9007199254740993",
		},
		"no parameters": {
			rego: `rego: 'package x violation[{"msg": "none"}] { input.parameters == {} }'`, want: "none",
		},
		"no message": {
			rego: `rego: 'package x violation[{"message": "none"}] { true }'`, want: "the Rego of its template made a violation without msg",
		},
		"no Rego": {
			rego: `code: [{engine: K8sNativeValidation}]`,
			want: "the template has no Rego for the target admission.k8s.gatekeeper.sh, and this function supports no other language",
		},
		"the network": {
			rego: `rego: 'package x violation[{"msg": "x"}] { http.send({"method": "get", "url": "http://127.0.0.1"}) }'`,
			want: "the Rego of the template cannot be compiled: 1 error occurred: each/0.rego:1: rego_type_error: undefined function http.send",
		},
		"the environment": {
			rego: `rego: 'package x violation[{"msg": "x"}] { opa.runtime() }'`,
			want: "the Rego of the template cannot be compiled: 1 error occurred: each/0.rego:1: rego_type_error: undefined function opa.runtime",
		},
		"an unknown enforcement action": {
			rego: `rego: 'package x'`, spec: "enforcementAction: x, ", want: `spec.enforcementAction is "x": want deny, warn or dryrun`,
		},
		"an invalid selector": {
			rego: `rego: 'package x'`, spec: "match: {labelSelector: {matchExpressions: [{key: a, operator: x}]}}, ",
			want: `spec.match.labelSelector: "x" is not a valid label selector operator`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := c.spec
			if !strings.Contains(spec, "match") {
				spec += "match: {kinds: [{kinds: [ClusterRole]}]}"
			}
			got := messages(t, policyOf("Each", c.rego, spec)+strings.TrimPrefix(objects, "\n"))
			if diff := cmp.Diff([]string{c.want}, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConstraintWithoutTemplate(t *testing.T) {
	t.Parallel()
	got := messages(t, "- {apiVersion: constraints.gatekeeper.sh/v1beta1, kind: Lost, metadata: {name: c}}\n")
	if diff := cmp.Diff([]string{"no ConstraintTemplate is of kind Lost: there are templates of []"}, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestGatekeeperStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rl, err := fn.ParseResourceList([]byte(functiontest.List(strings.TrimPrefix(bannedKeys, "\n"), "")))
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := gatekeeper(ctx, rl); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("gatekeeper() = %t, %v", ok, err)
	}
}

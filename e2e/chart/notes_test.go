// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"
)

// The notes warn of unsafe values, and only of those.
func TestNotesWarn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ values, want string }{
		"defaults":            {},
		"stricter":            {values: `images: {policy: {allow: [{prefix: ghcr.io/kptdev}]}}`},
		"policy of tags only": {values: `images: {policy: {floatingTags: warn}}`},
		"private registries":  {values: `privateRegistries: {credentialsSecret: pull}`},
		"environment":         {values: `extraEnv: [{name: TOKEN, value: secret}]`},
		"baseline":            {`functionNamespace: {podSecurity: baseline}`, "functionNamespace.podSecurity is baseline"},
		"privileged":          {`functionNamespace: {podSecurity: privileged}`, "functionNamespace.podSecurity is privileged"},
		"own namespace": {
			`functionNamespace: {create: false, name: functions}`,
			"kubectl label namespace functions pod-security.kubernetes.io/enforce=restricted",
		},
		"TLS":                {`tls: {secret: tls}`, "tls.secret is tls: Porch's server connects in plain text only"},
		"no policies":        {`networkPolicy: {enabled: false}`, "networkPolicy.enabled is false"},
		"node port":          {`service: {type: NodePort}`, "networkPolicy.callers has no ipBlock"},
		"task handler's":     {`taskHandler: {enabled: true, service: {type: LoadBalancer}}`, "networkPolicy.taskHandlerCallers has no ipBlock"},
		"named addresses":    {values: `{service: {type: NodePort}, networkPolicy: {callers: [{podSelector: {}}, {ipBlock: {cidr: 10.0.0.0/8}}]}}`},
		"nothing to warm up": {`imageWarmer: {enabled: true}`, "there is nothing to warm up"},
		"something to warm":  {values: `{imageWarmer: {enabled: true}, functions: [{name: a/b:v1}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := renderOnce(t, parseValues(t, test.values))
			warnings := strings.Count(r.notes, "WARNING: ")
			if test.want == "" && warnings > 0 {
				t.Errorf("the notes contain warnings, want none:\n%s", r.notes)
			}
			if test.want != "" && (warnings != 1 || !strings.Contains(r.notes, test.want)) {
				t.Errorf("the notes do not contain exactly one warning with %q:\n%s", test.want, r.notes)
			}
		})
	}
}

func TestNotesShowNextSteps(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values        string
		want, without []string
	}{
		"defaults": {
			want: []string{
				"--function-runner=dns:///function-runner-headless.porch-system:9445", "--max-request-body-size=6291456", "helm test krmfn",
				"rollout status deployment/function-runner", "Any image may run",
			},
			without: []string{"task-handler"},
		},
		"no headless Service": {
			values: `service: {headless: {enabled: false}}`,
			want:   []string{"--function-runner=function-runner.porch-system:9445"},
		},
		"TLS": {
			values:  `tls: {secret: tls, clientCertificates: true}`,
			without: []string{"Set these flags of Porch's server", "--function-runner"},
		},
		"other": {
			values:  `{maxRequestBodySize: 20000000, taskHandler: {enabled: true}, tests: {functions: []}, images: {policy: {allow: []}}}`,
			want:    []string{"--max-request-body-size=20000000", "task-handler.porch-system:9447"},
			without: []string{"helm test", "Any image may run"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := renderOnce(t, parseValues(t, test.values))
			for _, text := range test.want {
				if !strings.Contains(r.notes, text) {
					t.Errorf("the notes lack %q:\n%s", text, r.notes)
				}
			}
			for _, text := range test.without {
				if strings.Contains(r.notes, text) {
					t.Errorf("the notes contain %q, want it absent:\n%s", text, r.notes)
				}
			}
		})
	}
}

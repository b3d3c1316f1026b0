// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podpatch_test

import (
	"strings"
	"testing"

	"github.com/krmfn/krmfn/function-runner/internal/podpatch"
)

const head = "apiVersion: krmfn.dev/v1alpha1\nkind: FunctionPods\n"

// Parse rejects invalid settings with the name of the field.
func TestParseErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":           {"", "it is empty"},
		"no YAML":           {head + "defaults: [", "line 3"},
		"another kind":      {"apiVersion: krmfn.dev/v1alpha1\nkind: ImagePolicy", "want krmfn.dev/v1alpha1 and FunctionPods"},
		"two documents":     {head + "---\na: b", "more than one document"},
		"too much":          {head + strings.Repeat("#", podpatch.MaxSize), "more than 1024000 bytes"},
		"unknown":           {head + "default: {}", `line 3: unknown field "default"`},
		"no defaults":       {head + "defaults:\n#  spec: {runtimeClassName: gvisor}", "line 3: defaults has no value"},
		"no overrides":      {head + "overrides:", "line 3: overrides has no value"},
		"no spec":           {head + "defaults: {spec: }", "defaults.spec has no value"},
		"container":         {head + "defaults: {spec: {containers: []}}", `unknown field "defaults.spec.containers": only labels, annotations, and settings for isolation and scheduling are allowed here`},
		"capital":           {head + "defaults: {spec: {RuntimeClassName: a}}", `unknown field "defaults.spec.RuntimeClassName"`},
		"host network":      {head + "defaults: {spec: {hostNetwork: true}}", `unknown field "defaults.spec.hostNetwork"`},
		"user":              {head + "defaults: {spec: {securityContext: {runAsUser: 0}}}", `unknown field "defaults.spec.securityContext.runAsUser"`},
		"directive":         {head + "defaults: {spec: {$patch: replace}}", `unknown field "defaults.spec.$patch"`},
		"name":              {head + "defaults: {metadata: {name: a}}", `unknown field "defaults.metadata.name"`},
		"type":              {head + "defaults:\n  spec:\n    hostUsers: 1", "line 5: defaults.spec.hostUsers is not true or false"},
		"runtime class":     {head + "defaults: {spec: {runtimeClassName: ''}}", `defaults.spec.runtimeClassName is "", want a name, or null for none`},
		"priority class":    {head + "defaults: {spec: {priorityClassName: A B}}", "defaults.spec.priorityClassName"},
		"scheduler":         {head + "defaults: {spec: {schedulerName: A}}", "defaults.spec.schedulerName"},
		"no security":       {head + "defaults: {spec: {securityContext: null}}", "defaults.spec.securityContext has no value"},
		"no profile":        {head + "defaults: {spec: {securityContext: {seccompProfile: null}}}", "defaults.spec.securityContext.seccompProfile has no value"},
		"no AppArmor":       {head + "defaults: {spec: {securityContext: {appArmorProfile: }}}", "defaults.spec.securityContext.appArmorProfile has no value"},
		"unconfined":        {head + "defaults: {spec: {securityContext: {seccompProfile: {type: Unconfined}}}}", "seccompProfile.type is Unconfined, which weakens the isolation"},
		"AppArmor off":      {head + "defaults: {spec: {securityContext: {appArmorProfile: {type: Unconfined}}}}", "appArmorProfile.type is Unconfined"},
		"no type":           {head + "defaults: {spec: {securityContext: {seccompProfile: {}}}}", `seccompProfile.type is "", want RuntimeDefault or Localhost`},
		"no file":           {head + "defaults: {spec: {securityContext: {seccompProfile: {type: Localhost}}}}", "localhostProfile must be set if the type is Localhost, and only then"},
		"needless file":     {head + "defaults: {spec: {securityContext: {appArmorProfile: {type: RuntimeDefault, localhostProfile: a}}}}", "and only then"},
		"file elsewhere":    {head + "defaults: {spec: {securityContext: {seccompProfile: {type: Localhost, localhostProfile: ../../etc/a}}}}", "want a path below the kubelet's seccomp directory"},
		"absolute file":     {head + "defaults: {spec: {securityContext: {seccompProfile: {type: Localhost, localhostProfile: /a}}}}", "want a path below"},
		"toleration":        {head + "defaults: {spec: {tolerations: [{operator: Exists}, {value: a}]}}", "defaults.spec.tolerations[1]: it has no key"},
		"value":             {head + "defaults: {spec: {tolerations: [{key: a, operator: Exists, value: b}]}}", "which the operator Exists does not look at"},
		"effect":            {head + "defaults: {spec: {tolerations: [{key: a, effect: Never}]}}", `effect is "Never"`},
		"label's key":       {head + "defaults: {metadata: {labels: {a b: c}}}", `defaults.metadata.labels has the key "a b"`},
		"label's value":     {head + "defaults: {metadata: {labels: {a: b c}}}", `defaults.metadata.labels: value "b c" of a`},
		"selector":          {head + "defaults: {spec: {nodeSelector: {a: b c}}}", "defaults.spec.nodeSelector"},
		"annotation's key":  {head + "defaults: {metadata: {annotations: {a/b/c: d}}}", "defaults.metadata.annotations has the key"},
		"our label":         {head + "defaults: {metadata: {labels: {krmfn.dev/pool: a}}}", "keys of krmfn.dev are the function runner's"},
		"our removed label": {head + "defaults: {metadata: {labels: {fn.kpt.dev/image: null}}}", "keys of fn.kpt.dev are the function runner's"},
		"our annotation":    {head + "defaults: {metadata: {annotations: {krmfn.dev/image: a}}}", "defaults.metadata.annotations has the key"},
		"our subdomain":     {head + "defaults: {metadata: {labels: {a.krmfn.dev/b: c}}}", "keys of a.krmfn.dev are the function runner's"},
		"no images":         {head + "overrides: [{spec: {hostUsers: false}}]", "overrides[0].images is empty"},
		"short name":        {head + "overrides: [{images: [set-labels]}]", `overrides[0].images[0]: "set-labels" names no registry`},
		"tag":               {head + "overrides: [{images: [r.io/a:v1]}]", "without tag or digest"},
		"asterisk":          {head + "overrides: [{images: ['r.io/a*']}]", "is not valid"},
		"all":               {head + "overrides: [{images: ['*']}]", "names no registry"},
		"second override":   {head + "overrides: [{images: [r.io/a]}, {images: [r.io/b], spec: {volumes: []}}]", `unknown field "overrides[1].spec.volumes"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := podpatch.Parse([]byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("Parse() = %v, want a one-line error with %q", err, tc.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("defaults: {metadata: {labels: {a: b}}, spec: {hostUsers: false, tolerations: null}}")
	f.Add("overrides: [{images: [r.io/a/*], spec: {securityContext: {seccompProfile: {type: RuntimeDefault}}, nodeSelector: {a: null}}}]")
	f.Add("defaults: &x {spec: *x}")
	f.Fuzz(func(t *testing.T, text string) {
		patches, err := podpatch.Parse([]byte(head + text))
		if err != nil {
			return
		}
		if _, err := podpatch.Apply(pod(), patches.For("r.io/a/b:v1")...); err != nil {
			t.Errorf("Apply() of accepted patches = %v, want nil", err)
		}
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"

	"github.com/krmfn/krmfn/e2e/install"
)

// others maps definitions in the schema, or paths where the definition is too general, to values that differ from the chart's defaults.
var others = map[string]any{
	"monitoring.prometheusRule.runbookUrl": "https://example.org/runbook",
	"duration":                             "17s", "positiveDuration": "17m", "name": "other", "namespace": "other", "optionalName": "other", "tag": "v17", "schedule": "17 7 * * *", "optionalSchedule": "17 7 * * *",
	"strings": map[string]any{"other": "value"}, "annotations": map[string]any{"other": "value"}, "imagePrefix": "registry.example.org/other",
	"prepullTolerations": []any{"other"}, "podTolerations": []any{map[string]any{"key": "other"}}, "bytes": 17, "objects": []any{map[string]any{"other": "value"}}, "args": []any{"--other"},
	"env":        []any{map[string]any{"name": "OTHER", "value": "value"}},
	"quantities": map[string]any{"ephemeral-storage": "17Mi"}, "count": 17, "countOrNone": 17, "share": "17%", "surge": "17%", "path": "/other",
	"digest": "sha256:" + strings.Repeat("7", 64), "labels": map[string]any{"other": "value"}, "pullSecrets": []any{"other"},
	"volumes": []any{map[string]any{"name": "other", "emptyDir": map[string]any{}}}, "mounts": []any{map[string]any{"name": "a", "mountPath": "/other"}},
	"podMetadata": map[string]any{"labels": map[string]any{"other": "value"}}, "podSpec": map[string]any{"hostUsers": false}, "imagePatterns": []any{"other/*"},
	"securityContext": map[string]any{"runAsUser": 17}, "peers": []any{map[string]any{"ipBlock": map[string]any{"cidr": "10.17.0.0/16"}}},

	"image.registry":                          "registry.example.org",
	"image.tag":                               "v17",
	"release":                                 "dev@sha256:" + strings.Repeat("7", 64),
	"global.imageRegistry":                    "mirror.example.org",
	"terminationGracePeriodSeconds":           117,
	"podJanitor.grace":                        "17m",
	"podJanitor.warmerTTL":                    "17h",
	"functionNamespace.resourceQuota":         map[string]any{"pods": 17},
	"functionPodTemplate.pod":                 map[string]any{"kind": "Pod"},
	"functionPodTemplate.service":             map[string]any{"spec": map[string]any{"type": "Other"}},
	"functionPods.overrides":                  []any{map[string]any{"images": []any{"a/b"}}},
	"functions":                               []any{map[string]any{"name": "a/b:v1"}},
	"images.defaultPrefix":                    "registry.example.org/other",
	"images.policy.allow":                     []any{map[string]any{"prefix": "a"}},
	"images.policy.allow.0.digest":            "sha256:" + strings.Repeat("0", 64),
	"images.policy.signatures":                []any{map[string]any{"prefix": "a", "keys": []any{map[string]any{"data": "a"}}}},
	"images.policy.signatures.0.keys":         []any{map[string]any{"data": "b"}},
	"images.policy.signatures.0.keyless":      []any{map[string]any{"issuer": "a", "subject": "b"}},
	"images.policy.signatures.0.attestations": []any{map[string]any{"predicateType": "other"}},
	"imageWarmer.images":                      []any{"a/b:v17"},
	"imageWarmer.prepull.tolerations":         []any{"other"},
	"scrapeInterval":                          "17s",
	"networkPolicy.egress":                    []any{map[string]any{}},
	"networkPolicy.componentEgress":           []any{map[string]any{}},
	"networkPolicy.meshPorts":                 []any{15008},
	"pods.user":                               "assigned",
	"functions.0.minWarmPods":                 2,
	"podSecurityContext.supplementalGroups":   []any{17},
	"pods.scanInterval":                       "17s",
	"securityContext.capabilities.add":        []any{"OTHER"},
	"securityContext.capabilities.drop":       []any{"OTHER"},
	"resultCacheSize":                         "17Mi",
	"taskHandler.functionRunner":              "other:9445",
	"tls.allowedClients":                      []any{"other"},
	"tls.allowedServiceAccounts":              []any{"other/account"},
	"tests.functions":                         []any{map[string]any{"image": "a/b:v17"}},
}

// companions lists values that the values at and below a path need to have an effect.
var companions = []struct{ path, values string }{
	{"autoscaling.", `autoscaling: {enabled: true}`},
	{"autoscaling.minReplicas", `autoscaling: {maxReplicas: 20}`},
	{"serviceAccount.create", `serviceAccount: {name: there}`},
	{"podJanitor.serviceAccount.create", `podJanitor: {serviceAccount: {name: there}}`},
	{"imageWarmer.serviceAccount.create", `imageWarmer: {serviceAccount: {name: there}}`},
	{"taskHandler.serviceAccount.", `taskHandler: {serviceAccount: {create: true}}`},
	{"podJanitor.warmerTTL", switches["warmer"]},
	{"functionNamespace.podSecurity", `functionNamespace: {create: true}`},
	{"functionPodTemplate.service", switches["template"]},
	{"imageWarmer.", switches["warmer"]},
	{"monitoring.serviceMonitor.", `monitoring: {serviceMonitor: {enabled: true}}`},
	{"monitoring.podMonitor.", `monitoring: {podMonitor: {enabled: true}}`},
	{"monitoring.prometheusRule.", `monitoring: {serviceMonitor: {enabled: true}, prometheusRule: {enabled: true}}`},
	{"monitoring.dashboard.", `monitoring: {dashboard: {enabled: true}}`},
	{"images.policy.signatures", `images: {publicKeysSecret: keys, trustedRootConfigMap: root, policy: {trustedRoot: root.json}}`},
	{"images.publicKeysSecret", `images: {policy: {allow: []}}`},
	{"images.trustedRootConfigMap", `images: {policy: {allow: []}}`},
	{"privateRegistries.caSecret", `privateRegistries: {credentialsSecret: pull}`},
	{"networkPolicy.taskHandlerCallers", `taskHandler: {enabled: true}`},
	{"networkPolicy.dnsServers", `networkPolicy: {functionDNS: true}`},
	{"networkPolicy.componentEgress", `networkPolicy: {restrictEgress: true}`},
	{"taskHandler.", `taskHandler: {enabled: true}`},
	{"tls.", `tls: {secret: tls}`},
	{"tls.issuerRef", `tls: {issuerRef: {name: ca}}`},
	{"tls.allowed", `tls: {clientCertificates: true}`},
	{"tls.allowedServiceAccounts", `tls: {tokenAudience: krmfn, allowedServiceAccounts: [a/b]}`},
	{"extraVolumeMounts", `extraVolumes: [{name: a, emptyDir: {}}, {name: other, emptyDir: {}}]`},
	{"podJanitor.extraVolumeMounts", `podJanitor: {extraVolumes: [{name: a, emptyDir: {}}, {name: other, emptyDir: {}}]}`},
	{"imageWarmer.extraVolumeMounts", `imageWarmer: {extraVolumes: [{name: a, emptyDir: {}}, {name: other, emptyDir: {}}]}`},
	{"taskHandler.extraVolumeMounts", `taskHandler: {extraVolumes: [{name: a, emptyDir: {}}, {name: other, emptyDir: {}}]}`},
	{"tls.token", `tls: {clientCertificates: true, tokenAudience: krmfn, allowedServiceAccounts: [a/b]}`},
	{"image.tags.image-warmer", switches["warmer"]},
	{"image.tags.task-handler", `taskHandler: {enabled: true}`},
	{"image.digests.image-warmer", switches["warmer"]},
	{"image.digests.task-handler", `taskHandler: {enabled: true}`},
	{"image.overrides.image-warmer", switches["warmer"]},
	{"image.overrides.task-handler", `taskHandler: {enabled: true}`},
}

// another returns a value for a leaf that differs from its current value.
func another(t *testing.T, l *valueLeaf, now any) any {
	t.Helper()
	for _, key := range []string{l.String(), l.definition} {
		if value, given := others[key]; given {
			return value
		}
	}
	switch {
	case l.schema.Enum != nil:
		for _, value := range l.schema.Enum {
			if value != now {
				return value
			}
		}
	case l.schema.Type == "boolean":
		set, _ := now.(bool)
		return !set
	case l.schema.Type == "integer":
		return 17
	case l.schema.Type == "string":
		return "other"
	case l.schema.Type == "array" && l.schema.Items.Type == "object":
		return []any{map[string]any{"other": "value"}}
	case l.schema.Type == "object":
		return map[string]any{"other": "value"}
	}
	t.Fatalf("no other value known for %s; add one to others", l)
	return nil
}

// lookup returns the value at a path, or nil.
func lookup(values any, path []string) any {
	for _, name := range path {
		below, _ := values.(map[string]any)
		values = below[name]
	}
	return values
}

// unused lists values that do not change the manifests, with the reason.
var unused = map[string]string{
	"global":                                 "Helm's, for charts that have others below them",
	"images.policy.signatures.0.keys.0.file": "excludes data",
	"images.policy.signatures.0.keyless.0.subjectRegExp": "excludes subject",
}

// Each value changes the manifests; a value without effect would mislead users.
func TestEachValueCounts(t *testing.T) {
	t.Parallel()
	parsed := loadChart(t)
	for _, l := range leaves(t) {
		if unused[l.String()] != "" {
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			base := map[string]any{}
			for _, c := range companions {
				if strings.HasPrefix(l.String(), c.path) {
					base = install.MergeValues(base, parseValues(t, c.values))
				}
			}
			now := lookup(install.MergeValues(parsed.Values, base), l.path)
			changed := install.MergeValues(base, at(l.path, another(t, l, now)))
			// An element of a list changes the manifests by itself, so both renderings need one.
			if len(l.path) > 1 && strings.Contains(l.String(), ".0.") {
				base = install.MergeValues(base, bare(l.path))
			}
			if renderOnce(t, base).text == renderOnce(t, changed).text {
				t.Errorf("values %v do not change the manifests", changed)
			}
		})
	}
}

// bare returns values with the list on a path. Its element has only the required fields.
func bare(path []string) map[string]any {
	for i, name := range path {
		if name == "0" {
			return at(path[:i+1], map[string]any{})
		}
	}
	return nil
}

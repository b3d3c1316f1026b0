// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/install"
)

// samples holds values in YAML for fields that the schema does not describe or describes by a pattern. The keys are names of definitions or
// of values.
var samples = map[string][]string{
	"duration": {"0s", "1s", "90s", "1h30m", "1.5s", "250ms", "10m"}, "positiveDuration": {"1s", "90s", "1h30m", "0.5s", "250ms", "10m", "2h"},
	"schedule": {`"@daily"`, `"*/5 * * * *"`, `"0 3 1,15 JAN-MAR MON"`}, "optionalSchedule": {`""`, `"@every 1h30m"`, `"23 */6 * * *"`}, "digest": {`""`, "sha256:" + strings.Repeat("a", 64)},
	"name": {"a", "x-1", "set-labels"}, "optionalName": {`""`, "a", "x-1", "b.c"}, "namespace": {"functions", "fn-2"}, "tag": {"v1", "dev", "1.2.3-rc.1_x"},
	"release":   {`""`, "dev@sha256:" + strings.Repeat("1", 64)},
	"extraArgs": {"[]", `["--log-level=7"]`}, "share": {"0", "1", "25%"}, "quantities": {"{}", "{cpu: 1, memory: 1Gi}", "{cpu: 100m}", "{memory: 5e8, ephemeral-storage: 1Gi}", "{cpu: 0.5, memory: 64Mi}"},
	"strings": {"{}", "{a: b}"}, "annotations": {"{}", "{a: b}", `{"example.org/x": "yes", a: "1: 2", b: "#"}`},
	"rewrites": {"{}", "{gcr.io/kpt-fn: ghcr.io/kptdev/}", `{a.io: "[fd00::1]:5000/b", "r.io:5000/c": d}`}, "labels": {"{}", "{app: x, team: a}", "{app.kubernetes.io/name: x}"},
	"env":             {"[]", "[{name: A, value: b}, {name: A, value: c}]", "[{name: OTEL_SERVICE_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"},
	"volumes":         {"[]", "[{name: tmp, emptyDir: {}}]", "[{name: more, secret: {secretName: s}}]", "[{name: a, configMap: {name: a}}, {name: more, emptyDir: {}}]"},
	"mounts":          {"[]", "[{name: more, mountPath: /more}]", "[{name: tmp, mountPath: /tmp}]", "[{name: tmp, mountPath: /more}, {name: tmp, mountPath: /more, subPath: a}]"},
	"securityContext": {"{}", "{runAsUser: 17}", "{readOnlyRootFilesystem: false}"}, "podSecurityContext": {"{}", "{runAsUser: 17, fsGroup: 17}", "{seccompProfile: null}"},
	"issuerRef": {"{}", "{name: ca, kind: ClusterIssuer}"}, "pullSecrets": {"[]", "[a, {name: b}, b]"},
	"affinity":                  {"{}", "{podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a}]}}"},
	"topologySpreadConstraints": {"[]", "[{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]"},
	"podTolerations":            {"[]", "[{key: a, operator: Exists}]", "[{operator: Exists}, {key: b, value: c, effect: NoSchedule}]"}, "bytes": {"1", "6291456", "200000000"},
	"limitRange": {"[]", "[{type: Container, max: {memory: 1Gi}}]"}, "resourceQuota": {"{}", "{pods: 100, requests.memory: 64Gi}", `{pods: "1", count/services: 0}`},
	"egress": {"[]", "[{}]", "[{ports: [{port: 443, protocol: TCP}]}]"}, "relabelings": {"[]", "[{action: drop}]"}, "allow": {"[]", "[{prefix: a}]", "[{repository: r.io/a/b, digest: 'sha256:" + strings.Repeat("b", 64) + "'}]"},
	"signatures": {"[]", "[{prefix: a, keys: [{file: k.pub}]}]", "[{keyless: [{issuer: a, subject: b}]}]"}, "allowedClients": {"[]", "[a, 'spiffe://b/*']"}, "allowedServiceAccounts": {"[]", "[porch-system/porch-server]"},
	"pod": {"{}", "{apiVersion: v1, kind: Pod, spec: {containers: [{name: function}]}}"}, "service": {"{apiVersion: v1, kind: Service}"},
	"extraObjects": {"[]", `[{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}-more", namespace: a}}]`},
	"registry":     {"ghcr.io/krmfn", "r.io:5000/a/b", "krmfn", `"[fd00::1]:5000/a"`}, "imageRegistry": {`""`, "mirror.example.org", "r.io:5000/proxy"}, "repository": {"r.io/a", "a", "r.io:5000/a/b"},
	"defaultPrefix": {"r.io/fn/", "r.io:5000/a"}, "interval": {"15s", "1m30s", "2h"}, "runbookUrl": {"https://example.org/a"}, "functionRunner": {`""`, "a:9445"},
	"peers":           {"[]", "[{podSelector: {}}]", "[{namespaceSelector: {matchLabels: {a: b}}, podSelector: {}}, {ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]"},
	"componentEgress": {"[]", "[{ports: [{port: 4317, protocol: TCP}]}]"},
	"podMetadata":     {"{}", "{labels: {team: a}, annotations: {a: '1: 2'}}"}, "imagePatterns": {"[r.io/a/*]", "[r.io/a/b, a/b]"},
	"podSpec":         {"{}", "{runtimeClassName: gvisor, hostUsers: false}", "{nodeSelector: null, tolerations: [{key: a, operator: Exists}]}"},
	"resultCacheSize": {"0", "64Mi", "1000"}, "terminationGracePeriodSeconds": {"0", "36", "20000"}, "image": {"a/b:v1", "set-labels"},
	"minWarmPods": {"0", "1", "2", "3"}, "maxParallelPodsPerFunction": {"1", "2", "4"}, "maxSurge": {"0", "1", "25%", "200%"}, "tokenAudience": {`""`, "krmfn"},
	"grace": {"5m", "3h", "1m"}, "warmerTTL": {"1h", "10m", "20m"}, "minReplicas": {"1", "2", "5"}, "maxReplicas": {"2", "5", "40"},
}

// related lists values that affect each other. A set of values often contains all values of a line.
var related = [][]string{
	{"tls.secret", "tls.clientCertificates", "tls.allowedClients", "tls.tokenAudience", "tls.allowedServiceAccounts", "tls.issuerRef", "taskHandler.enabled"},
	{"drainTimeout", "shutdownDelay", "terminationGracePeriodSeconds"},
	{"podJanitor.grace", "pods.scanInterval", "podJanitor.warmerTTL"},
	{"imageWarmer.enabled", "imageWarmer.images", "imageWarmer.mode", "imageWarmer.schedule", "imageWarmer.atInstall", "imageWarmer.interval", "imageWarmer.prepull.timeout"},
	{"functions", "pods.maxParallelPodsPerFunction", "functionNamespace.resourceQuota"},
	{"strategy.type", "strategy.rollingUpdate"},
	{"taskHandler.enabled", "taskHandler.strategy", "taskHandler.resources", "taskHandler.functionRunner", "taskHandler.builtinFunctions"},
	{"extraVolumes", "extraVolumeMounts"},
	{"podJanitor.extraVolumes", "podJanitor.extraVolumeMounts", "podJanitor.resources"},
	{"resources.requests", "resources.limits"},
	{"replicas", "autoscaling.enabled", "autoscaling.minReplicas", "autoscaling.maxReplicas", "podDisruptionBudget.maxUnavailable"},
	{"images.policy", "images.publicKeysSecret", "images.trustedRootConfigMap", "pods.imageForm"},
	{"serviceAccount", "podJanitor.serviceAccount", "taskHandler.serviceAccount"},
	{"maxRequestBodySize", "maxResourceListSize", "taskHandler.enabled", "taskHandler.maxPackageSize"},
	{"monitoring.serviceMonitor", "monitoring.prometheusRule", "monitoring.dashboard"},
	{"networkPolicy.restrictEgress", "networkPolicy.componentEgress", "networkPolicy.meshPorts", "networkPolicy.dnsServers", "networkPolicy.functionDNS"},
	{"privateRegistries", "image.registry", "global.imageRegistry", "image.tags", "image.overrides"},
}

// random generates values that the schema permits.
type random struct {
	*rand.Rand
	root *valueSchema
}

// generate returns the set of values of a seed.
func generate(t *testing.T, root *valueSchema, seed uint64) map[string]any {
	t.Helper()
	r := &random{Rand: rand.New(rand.NewPCG(seed, 1)), root: root}
	given := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(root.Properties)) {
		if r.IntN(6) == 0 {
			given[name] = r.value(name, root.Properties[name])
		}
	}
	for range 1 + r.IntN(3) {
		for _, path := range related[r.IntN(len(related))] {
			name, s := "", root
			for name = range strings.SplitSeq(path, ".") {
				s = r.resolve(s).Properties[name]
			}
			given = install.MergeValues(given, at(strings.Split(path, "."), r.value(name, s)))
		}
	}
	text, err := yaml.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	return parseValues(t, string(text))
}

// resolve returns the definition that a schema refers to, or the schema.
func (r *random) resolve(s *valueSchema) *valueSchema {
	if name, refers := strings.CutPrefix(s.Ref, "#/definitions/"); refers {
		return r.root.Definitions[name]
	}
	return s
}

func (r *random) value(name string, s *valueSchema) any {
	if shared, is := strings.CutPrefix(s.Ref, "#/definitions/"); is && samples[name] == nil {
		name = shared
	}
	s = r.resolve(s)
	if texts := samples[name]; texts != nil && (len(s.Properties) == 0 || texts[0] == "{}") {
		return r.sample(texts)
	}
	switch {
	case s.Enum != nil:
		return s.Enum[r.IntN(len(s.Enum))]
	case s.Type == "boolean":
		return r.IntN(2) == 1
	case s.Type == "integer":
		return 1 + r.IntN(40)
	case s.Type == "string":
		return []string{"v1", "a-b", "x"}[r.IntN(3)]
	case s.Type == "array":
		list := make([]any, r.IntN(3))
		for i := range list {
			list[i] = r.value(name, s.Items)
			for _, field := range s.Items.Required { // Other required fields have defaults.
				list[i].(map[string]any)[field] = r.value(field, s.Items.Properties[field])
			}
		}
		return list
	}
	fields := map[string]any{}
	for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
		if r.IntN(3) == 0 {
			fields[field] = r.value(field, s.Properties[field])
		}
	}
	return fields
}

func (r *random) sample(texts []string) any {
	var value any
	if err := yaml.Unmarshal([]byte(texts[r.IntN(len(texts))]), &value); err != nil {
		panic(err)
	}
	return value
}

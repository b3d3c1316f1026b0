// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/install"
)

// samples holds values in YAML for fields that the schema does not describe or describes by a pattern. The keys are names of definitions or
// of values. The generator leaves out samples that the schema does not permit: they fail the test if the schema becomes more permissive.
var samples = map[string][]string{
	"duration": {"0s", "1s", "90s", "1h30m", "1.5s", "250ms", "10m"}, "positiveDuration": {"0s", "0.0ms", "1s", "90s", "1h30m", "0.5s", "250ms", "10m", "2h"},
	"schedule": {`""`, "a b c d e", `"@often"`, `"@daily"`, `"*/5 * * * *"`, `"0 3 1,15 JAN-MAR MON"`}, "optionalSchedule": {`""`, `"@every 1h30m"`, `"23 */6 * * *"`}, "digest": {`""`, "sha256:" + strings.Repeat("a", 64)},
	"name": {"a..b", "a", "x-1", "set-labels"}, "optionalName": {`""`, "a..b", "-", "a", "x-1", "b.c"}, "namespace": {"functions", "fn-2"}, "tag": {"v1", "dev", "1.2.3-rc.1_x"},
	"release":   {`""`, "dev@sha256:" + strings.Repeat("1", 64)},
	"extraArgs": {"[]", `["--log-level=7"]`}, "share": {`""`, "101%", "0", "1", "25%"}, "quantities": {"{}", `{cpu: ""}`, "{cpu: 1 GB}", "{ram: 1Gi}", "{cpu: -1}", "{cpu: 1, memory: 1Gi}", "{cpu: 100m}", "{memory: 5e8, ephemeral-storage: 1Gi}", "{cpu: 0.5, memory: 64Mi}"},
	"strings": {"{}", "{a: b}"}, "annotations": {"{}", "{a: b}", `{"example.org/x": "yes", a: "1: 2", b: "#"}`},
	"rewrites": {"{}", `{a: ""}`, `{"": a}`, "{a: https://b}", "{gcr.io/kpt-fn: ghcr.io/kptdev/}", `{a.io: "[fd00::1]:5000/b", "r.io:5000/c": d}`}, "labels": {"{}", `{a: "1: 2"}`, "{a..b/c: d}", "{app: x, team: a}", "{app.kubernetes.io/name: x}"},
	"env":             {"[]", "[{name: a b}]", "[{name: A, value: b, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]", "[{name: A, value: b}, {name: A, value: c}]", "[{name: OTEL_SERVICE_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"},
	"volumes":         {"[]", "[{name: more}]", "[{name: A, emptyDir: {}}]", "[{name: a, emptyDir: {}, secret: {secretName: a}}]", "[{name: tmp, emptyDir: {}}]", "[{name: more, secret: {secretName: s}}]", "[{name: a, configMap: {name: a}}, {name: more, emptyDir: {}}]"},
	"mounts":          {"[]", "[{name: tmp, mountPath: '/a:b'}]", "[{name: more, mountPath: /more}]", "[{name: tmp, mountPath: /tmp}]", "[{name: tmp, mountPath: /more}, {name: tmp, mountPath: /more, subPath: a}]"},
	"securityContext": {"{}", "{fsGroup: 1}", "{runAsNonRoot: 'true'}", "{runAsUser: 17}", "{readOnlyRootFilesystem: false}"}, "podSecurityContext": {"{}", "{allowPrivilegeEscalation: false}", "{runAsUser: -1}", "{runAsUser: 17, fsGroup: 17}", "{seccompProfile: null}"},
	"issuerRef": {"{}", "{kind: Issuer}", "{name: ca, kind: ClusterIssuer}"}, "pullSecrets": {"[]", "[a, {name: b}, b]"},
	"affinity":                  {"{}", "{podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a}]}}"},
	"topologySpreadConstraints": {"[]", "[{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]"},
	"images":                    {"[a/b:v1]", "[set-labels, r.io/a/b]", "[a]", "[]"},
	"prepullTolerations":        {"[]", "['a=b:NoSchedule', c]", "['=b']", "['a:Never']"},
	"podTolerations":            {"[]", "[{operator: Any}]", "[{effect: Never, operator: Exists}]", "[{key: a, operator: Exists}]", "[{operator: Exists}, {key: b, value: c, effect: NoSchedule}]"}, "bytes": {"1", "6291456", "200000000"},
	"limitRange": {"[]", "[{type: Container, max: {memory: 1Gi}}]"}, "resourceQuota": {"{}", "{pods: 0}", `{requests.cpu: ""}`, "{pods: 100, requests.memory: 64Gi}", `{pods: "1", count/services: 0}`},
	"egress": {"[]", "[{}]", "[{ports: [{port: 443, protocol: TCP}]}]"}, "relabelings": {"[]", "[{action: drop}]"}, "allow": {"[]", "[{prefix: a}]", "[{repository: r.io/a/b, digest: 'sha256:" + strings.Repeat("b", 64) + "'}]"},
	"signatures": {"[]", "[{prefix: a, keys: [{file: k.pub}]}]", "[{keyless: [{issuer: a, subject: b}]}]"}, "allowedClients": {"[]", "['*.a']", "[a, 'spiffe://b/*']"}, "allowedServiceAccounts": {"[]", "[a]", "['*/b']", "[porch-system/porch-server]"},
	"pod": {"{}", "{apiVersion: v1, kind: Pod, spec: {containers: [{name: function}]}}"}, "service": {"{apiVersion: v1, kind: Service}"},
	"extraObjects": {"[]", `[{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}-more", namespace: a}}]`},
	"registry":     {"a//b", "A/B/", "ghcr.io/krmfn", "r.io:5000/a/b", "krmfn", `"[fd00::1]:5000/a"`}, "imageRegistry": {`""`, "mirror.example.org", "r.io:5000/proxy"}, "repository": {"a:5000/B", "r.io/a", "a", "r.io:5000/a/b"},
	"defaultPrefix": {"https://a", "A/B", "r.io/fn/", "r.io:5000/a"}, "interval": {"15s", "1m30s", "2h"}, "runbookUrl": {"https://example.org/a"}, "functionRunner": {`""`, "a:9445"},
	"peers":           {"[]", "[{}]", "[{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}]", "[{ipBlock: {cidr: 10.0.0.0/99}}]", "[{podSelector: {}}]", "[{namespaceSelector: {matchLabels: {a: b}}, podSelector: {}}, {ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]"},
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
	{"tls.secret", "tls.clientCertificates", "tls.allowedClients"},
	{"drainTimeout", "shutdownDelay", "terminationGracePeriodSeconds"},
	{"podJanitor.grace", "pods.scanInterval", "podJanitor.warmerTTL"},
	{"imageWarmer.enabled", "imageWarmer.images", "imageWarmer.interval", "imageWarmer.prepull.timeout"},
	{"imageWarmer.enabled", "imageWarmer.images", "imageWarmer.prepull.tolerations", "imageWarmer.prepull.nodeSelector"},
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
	{"monitoring.serviceMonitor", "monitoring.podMonitor", "monitoring.prometheusRule", "monitoring.dashboard"},
	{"networkPolicy.restrictEgress", "networkPolicy.componentEgress", "networkPolicy.meshPorts", "networkPolicy.dnsServers", "networkPolicy.functionDNS"},
	{"privateRegistries", "image.registry", "global.imageRegistry", "image.tags", "image.overrides"},
}

// random generates values that the schema permits.
type random struct {
	*rand.Rand
	*permitted
}

// permitted knows the schema.
type permitted struct {
	root *valueSchema
	sync.Mutex
	compiler *jsonschema.Compiler
}

// permits reports whether the schema at a JSON pointer permits a value.
func (p *permitted) permits(pointer string, value any) bool {
	p.Lock()
	defer p.Unlock()
	return p.compiler.MustCompile(schemaURL+pointer).Validate(value) == nil
}

// generate returns the set of values of a seed.
func (p *permitted) generate(t *testing.T, seed uint64) map[string]any {
	t.Helper()
	r := &random{rand.New(rand.NewPCG(seed, 1)), p}
	given := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(p.root.Properties)) {
		if r.IntN(6) == 0 {
			given[name] = r.value("/properties/"+name, p.root.Properties[name])
		}
	}
	for range 1 + r.IntN(3) {
		for _, names := range related[r.IntN(len(related))] {
			pointer, s := "", p.root
			for name := range strings.SplitSeq(names, ".") {
				pointer, s = p.resolve(pointer, s)
				pointer, s = pointer+"/properties/"+name, s.Properties[name]
			}
			given = install.MergeValues(given, at(strings.Split(names, "."), r.value(pointer, s)))
		}
	}
	text, err := yaml.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	return parseValues(t, string(text))
}

// resolve returns the definition that a schema refers to, or the schema, and its JSON pointer.
func (p *permitted) resolve(pointer string, s *valueSchema) (string, *valueSchema) {
	if name, refers := strings.CutPrefix(s.Ref, "#/definitions/"); refers {
		return "/definitions/" + name, p.root.Definitions[name]
	}
	return pointer, s
}

func (r *random) value(pointer string, s *valueSchema) any {
	texts := samples[path.Base(pointer)]
	pointer, s = r.resolve(pointer, s)
	if texts == nil {
		texts = samples[path.Base(pointer)]
	}
	if texts != nil && (len(s.Properties) == 0 || texts[0] == "{}") {
		return r.sample(pointer, texts)
	}
	switch {
	case s.Enum != nil:
		return s.Enum[r.IntN(len(s.Enum))]
	case s.Type == "boolean":
		return r.IntN(2) == 1
	case s.Type == "integer":
		return r.sample(pointer, []string{"0", "1", "2", strconv.Itoa(1 + r.IntN(40))})
	case s.Type == "string":
		return r.sample(pointer, []string{`""`, "v1", "a-b", "x"})
	case s.Type == "array":
		list := make([]any, r.IntN(3))
		for i := range list {
			list[i] = r.value(pointer+"/items", s.Items)
			for _, field := range s.Items.Required { // Other required fields have defaults.
				list[i].(map[string]any)[field] = r.value(pointer+"/items/properties/"+field, s.Items.Properties[field])
			}
		}
		return list
	}
	fields := map[string]any{}
	for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
		if r.IntN(3) == 0 {
			fields[field] = r.value(pointer+"/properties/"+field, s.Properties[field])
		}
	}
	return fields
}

// sample returns one of the values that the schema permits.
func (r *random) sample(pointer string, texts []string) any {
	for _, i := range r.Perm(len(texts)) {
		var value any
		if err := yaml.Unmarshal([]byte(texts[i]), &value); err != nil {
			panic(err)
		}
		if r.permits(pointer, value) {
			return value
		}
	}
	panic("the schema permits no sample for " + pointer)
}

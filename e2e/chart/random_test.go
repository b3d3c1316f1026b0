// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/install"
)

// samples holds values in YAML for fields that the schema does not describe or describes by a pattern. The keys are names of definitions or
// of values.
var samples = map[string][]string{
	"duration": {"1s", "90s", "1h30m", "1.5s", "250ms", "10m"}, "cron": {`""`, `"@daily"`, `"*/5 * * * *"`}, "digest": {`""`, "sha256:" + strings.Repeat("a", 64)},
	"name": {"a", "x-1"}, "optionalName": {`""`, "a", "x-1"}, "namespace": {"functions", "fn-2"}, "tag": {"v1", "dev", "1.2.3-rc.1_x"},
	"release": {`""`, "dev@sha256:" + strings.Repeat("1", 64)},
	"args":    {"[]", `["--x=y", "a b: c", "{{ nothing }}", '"']`}, "share": {"0", "1", "25%"}, "quantities": {"{}", "{cpu: 1, memory: 1Gi}", "{cpu: 100m}"},
	"strings": {"{}", "{a: b}", `{"example.org/x": "yes", a: "1: 2", b: "#"}`}, "labels": {"{}", "{app: x, team: a}", "{app.kubernetes.io/name: x}"},
	"env":             {"[]", "[{name: A, value: b}, {name: A, value: c}]", "[{name: OTEL_SERVICE_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"},
	"volumes":         {"[]", "[{name: tmp, emptyDir: {}}]", "[{name: more, secret: {secretName: s}}]"},
	"mounts":          {"[]", "[{name: tmp, mountPath: /tmp}]", "[{name: tmp, mountPath: /more}, {name: tmp, mountPath: /more, subPath: a}]"},
	"securityContext": {"{}", "{runAsUser: 17}", "{runAsNonRoot: true}"}, "pullSecrets": {"[]", "[a, {name: b}, b]"},
	"affinity":                  {"{}", "{podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a}]}}"},
	"topologySpreadConstraints": {"[]", "[{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]"},
	"limitRange":                {"[]", "[{type: Container, max: {memory: 1Gi}}]"}, "resourceQuota": {"{}", "{pods: 100, requests.memory: 64Gi}"},
	"egress": {"[]", "[{}]", "[{ports: [{port: 443, protocol: TCP}]}]"}, "relabelings": {"[]", "[{action: drop}]"}, "claims": {"[]"}, "allow": {"[]", "[{prefix: a}]"}, "allowedServiceAccounts": {"[]", "[porch-system/porch-server]"},
	"pod": {"{}", "{apiVersion: v1, kind: Pod, spec: {containers: [{name: function}]}}"}, "service": {"{apiVersion: v1, kind: Service}"},
	"extraObjects": {"[]", `[{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}-more"}}]`},
	"registry":     {"ghcr.io/krmfn", "r.io:5000/a/b", "krmfn"}, "imageRegistry": {`""`, "mirror.example.org", "r.io:5000/proxy"}, "repository": {"r.io/a", "a", "r.io:5000/a/b"},
	"defaultPrefix": {"r.io/fn/", "r.io:5000/a"}, "interval": {"15s", "1m30s"}, "runbookUrl": {"https://example.org/a"}, "functionRunner": {`""`, "a:9445"},
	"peers":           {"[]", "[{podSelector: {}}]", "[{namespaceSelector: {matchLabels: {a: b}}, podSelector: {}}, {ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]"},
	"componentEgress": {"[]", "[{ports: [{port: 4317, protocol: TCP}]}]"},
	"podMetadata":     {"{}", "{labels: {team: a}, annotations: {a: '1: 2'}}"}, "imagePatterns": {"[r.io/a/*]", "[r.io/a/b, a/b]"},
	"podSpec":         {"{}", "{runtimeClassName: gvisor, hostUsers: false}", "{nodeSelector: null, tolerations: [{key: a, operator: Exists}]}"},
	"resultCacheSize": {"0", "64Mi", "1000"}, "terminationGracePeriodSeconds": {"0", "36", "20000"}, "image": {"a/b:v1", "set-labels"},
}

// random generates values that the schema permits.
type random struct {
	*rand.Rand
	definitions map[string]*valueSchema
}

func (r *random) value(name string, s *valueSchema) any {
	if shared, is := strings.CutPrefix(s.Ref, "#/definitions/"); is {
		if _, sampled := samples[name]; !sampled {
			name = shared
		}
		s = r.definitions[shared]
	}
	if name == "objects" {
		return []any{map[string]any{"key": "a", "operator": "Exists"}}[:r.IntN(2)] // All lists of this type without samples are tolerations.
	}
	if texts := samples[name]; texts != nil && len(s.Properties) == 0 {
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

// renderFast renders without Helm's validation of values, which compiles the schema at each call.
func renderFast(parsed *chart.Chart, given map[string]any) (map[string]string, error) {
	values, err := chartutil.ToRenderValuesWithSchemaValidation(parsed, given,
		chartutil.ReleaseOptions{Name: install.ReleaseName, Namespace: install.Namespace, IsInstall: true}, nil, true)
	if err != nil {
		return nil, err
	}
	return engine.Render(parsed, values)
}

// For all values that the schema permits, the chart renders objects that Kubernetes accepts, or fails with an error of its own.
func TestRandomValues(t *testing.T) {
	t.Parallel()
	parsed, schema, decoder := loadChart(t), compiled(t, true), serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	root := readSchema(t)
	refused := 0
	const sets = 200
	for seed := range uint64(sets) {
		r := &random{Rand: rand.New(rand.NewPCG(seed, 1)), definitions: root.Definitions}
		given := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(root.Properties)) {
			if r.IntN(3) == 0 {
				given[name] = r.value(name, root.Properties[name])
			}
		}
		text, err := yaml.Marshal(given)
		if err != nil {
			t.Fatal(err)
		}
		values := parseValues(t, string(text))
		all, err := chartutil.CoalesceValues(parsed, values)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(all.AsMap()); err != nil {
			t.Fatalf("seed %d: generated values that the schema does not permit: %v", seed, err)
		}
		files, err := renderFast(parsed, values)
		if err != nil {
			refused++
			if !strings.Contains(err.Error(), "execution error at") {
				t.Errorf("seed %d: error = %v, want one from the chart's templates, with values\n%s", seed, err, text)
			}
			continue
		}
		if err := decodeAll(decoder, files); err != nil {
			t.Errorf("seed %d: %v, with values\n%s", seed, err, text)
		}
	}
	if refused > sets/2 {
		t.Errorf("the chart rejected %d of %d sets of values, want at most half", refused, sets)
	}
}

// decodeAll decodes objects as the API server does with strict field validation. Duplicate objects in a file are an error.
func decodeAll(decoder runtime.Decoder, files map[string]string) error {
	for file, text := range files {
		if strings.HasSuffix(file, ".txt") {
			continue
		}
		seen := map[string]bool{}
		for _, manifest := range releaseutil.SplitManifests(text) {
			var object map[string]any
			if err := yaml.UnmarshalStrict([]byte(manifest), &object); err != nil {
				return fmt.Errorf("%s: %w in\n%s", file, err, manifest)
			}
			if group := fmt.Sprint(object["apiVersion"]); len(object) == 0 || strings.HasPrefix(group, "monitoring.coreos.com/") || strings.HasPrefix(group, "cert-manager.io/") {
				continue
			}
			if _, _, err := decoder.Decode([]byte(manifest), nil, nil); err != nil {
				return fmt.Errorf("%s: %w in\n%s", file, err, manifest)
			}
			if seen[manifest] {
				return fmt.Errorf("%s: twice\n%s", file, manifest)
			}
			seen[manifest] = true
		}
	}
	return nil
}

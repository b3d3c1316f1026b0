// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/install"
)

// switches enable optional features. The matrix contains no switch, each switch, each pair and all of them.
var switches = map[string]string{
	"autoscaling": `autoscaling: {enabled: true}`,
	"warmer":      `imageWarmer: {enabled: true, images: [set-labels:v0.2.0], functionConfigs: true}`,
	"tasks":       `taskHandler: {enabled: true}`,
	"monitoring": `monitoring: {serviceMonitor: {enabled: true, labels: {release: a}}, podMonitor: {enabled: true, labels: {release: a}}, prometheusRule: {enabled: true, labels: {release: a}},
  dashboard: {enabled: true}}`,
	"private":  `privateRegistries: {credentialsSecret: pull, caSecret: authority}`,
	"template": `functionPodTemplate: {pod: {apiVersion: v1, kind: Pod, spec: {containers: [{name: function}]}}}`,
}

// variants are values that the matrix contains by themselves and combined with all switches.
var variants = map[string]string{
	"node ports":            `{service: {type: NodePort, headless: {enabled: false}}, taskHandler: {service: {type: LoadBalancer}}}`,
	"going back":            `{keepPorchObjects: true, functionNamespace: {keep: false}, functionPodTemplate: {pod: {kind: Pod}}}`,
	"not kept":              `functionNamespace: {keep: false}`,
	"janitor looks":         `podJanitor: {dryRun: true}`,
	"no objects of Porch's": `{functionConfigs: "off", pods: {frontend: pod-ip, imageForm: reference, user: assigned}}`,
	"authority of pods":     `{pods: {tls: {mode: always, existingSecret: ours}}}`,
	"pods without TLS":      `{pods: {tls: {mode: "off"}}}`,
	"authority alone":       `privateRegistries: {caSecret: authority}`,
	"all at once":           `{strategy: {type: Recreate}, podDisruptionBudget: {enabled: false}, revisionHistoryLimit: 0}`,
	"long drain":            `{drainTimeout: 10m, shutdownDelay: 1500ms}`,
	"their own accounts":    `{serviceAccount: {name: ours}, podJanitor: {serviceAccount: {name: theirs}}, taskHandler: {serviceAccount: {create: true}}}`,
	"pull secrets":          `{global: {imageRegistry: mirror.example.org/proxy, imagePullSecrets: [a, {name: b}]}, imagePullSecrets: [b, {name: c}]}`,
	"overridden images": `{global: {imageRegistry: mirror.example.org}, image: {registry: krmfn, tags: {krmfn: "v1@sha256:` + strings.Repeat("0", 64) + `"},
  overrides: {function-runner: {repository: "r.io:5000/a/b", tag: v7}, krmfn: {digest: "sha256:` + strings.Repeat("1", 64) + `"}}}}`,
	"overlaps": `{commonLabels: {app: x, team: a, app.kubernetes.io/name: x}, podLabels: {app: x, tier: b, team: c}, podAnnotations: {krmfn.dev/pod-cache-config: x},
  extraEnv: [{name: WRAPPER_SERVER_IMAGE, value: "ghcr.io/krmfn/wrapper-server:dev"}, {name: A, value: a}, {name: A, value: b}],
  extraVolumes: [{name: tmp, emptyDir: {sizeLimit: 9Gi}}], extraVolumeMounts: [{name: tmp, mountPath: /tmp, readOnly: false}],
  podJanitor: {extraEnv: [{name: POD_NAME, value: x}], podLabels: {app: x}, extraVolumes: [{name: a, emptyDir: {}}], extraVolumeMounts: [{name: a, mountPath: /a}]},
  imageWarmer: {extraEnv: [{name: WRAPPER_SERVER_IMAGE, value: "ghcr.io/krmfn/wrapper-server:dev"}], podLabels: {app: x}},
  taskHandler: {extraEnv: [{name: OTEL_SERVICE_NAME, value: x}], podLabels: {krmfn.dev/metrics: x}},
  monitoring: {serviceMonitor: {labels: {app.kubernetes.io/name: x}}, prometheusRule: {labels: {helm.sh/chart: x}}}}`,
	"one of each":   `{replicas: 1, taskHandler: {replicas: 1}, autoscaling: {minReplicas: 1}}`,
	"own namespace": `functionNamespace: {create: false, name: functions, podSecurity: baseline}`,
	"limits":        `functionNamespace: {resourceQuota: {pods: 100}, limitRange: [{type: Container, default: {memory: 1Gi}}]}`,
	"no policies":   `networkPolicy: {enabled: false}`,
	"ways out":      `networkPolicy: {egress: [{ports: [{port: 443, protocol: TCP}]}], functionDNS: true}`,
	"strict policies": `networkPolicy: {restrictEgress: true, meshPorts: [15008], callers: [], metricsReaders: [], dnsServers: [{ipBlock: {cidr: 10.0.0.10/32}}],
  componentEgress: [{ports: [{port: 4317, protocol: TCP}]}], taskHandlerCallers: [{namespaceSelector: {matchLabels: {team: a}}}]}`,
	"no janitor":         `podJanitor: {enabled: false}`,
	"no tests":           `tests: {functions: []}`,
	"template's name":    `functionPodTemplate: {name: ours}`,
	"credentials alone":  `privateRegistries: {credentialsSecret: pull}`,
	"metadata alone":     `imageWarmer: {enabled: true, images: [a/b:v1], prepull: {enabled: false}}`,
	"warmed on purpose":  `imageWarmer: {enabled: true, images: [a/b:v1], prepull: {nodeSelector: {a: b, c: d}, tolerations: ["a=b:NoSchedule", c]}}`,
	"images of a mirror": `image: {registry: "mirror.example.org:5000/krm", tag: v9, pullPolicy: Always, tags: {wrapper-server: v8}}`,
	"images":             `images: {defaultPrefix: r.io/fn, rewrites: {a.io: b.io, c.io/d: e.io/f}, policy: {allow: [{prefix: r.io}], floatingTags: refuse}}`,
	"images by name":     `{pods: {imageForm: reference}, images: {policy: {allow: [{prefix: r.io}], floatingTags: refuse}}}`,
	"functions":          `functions: [{name: a/b:v1, minWarmPods: 1, resources: {limits: {memory: 1Gi}}}, {name: "c/d:v1", timeToLive: 1m}]`,
	"function pods": `functionPods: {defaults: {metadata: {labels: {team: a}}, spec: {nodeSelector: {pool: functions}, tolerations: null}},
  overrides: [{images: ["r.io/a/*"], spec: {runtimeClassName: gvisor, tolerations: [{key: a, operator: Exists}]}}]}`,
	"placed":         placed(""),
	"placed janitor": placed("podJanitor"),
	"placed warmer":  placed("imageWarmer"),
	"placed tasks":   placed("taskHandler"),
	"placed tests":   placed("tests"),
	"extras": `{extraArgs: ["--port=9445"], extraEnv: [{name: A, value: b}, {name: OTEL_TRACES_EXPORTER, value: otlp}],
  extraVolumes: [{name: more, emptyDir: {}}], extraVolumeMounts: [{name: more, mountPath: /more}],
  podAnnotations: {a: b}, serviceAccount: {annotations: {c: d}}, imagePullSecrets: [{name: pull}],
  podJanitor: {extraArgs: ["--qps=1"], extraEnv: [{name: A, value: b}], podAnnotations: {a: b}},
  imageWarmer: {extraArgs: ["--format=json"], extraEnv: [{name: A, value: b}], podAnnotations: {a: b}, serviceAccount: {annotations: {c: d}}},
  taskHandler: {extraArgs: ["--port=9447"], extraEnv: [{name: DOCKER_CONFIG, value: /tmp}], podAnnotations: {a: b}}}`,
	"executables":         `{maxConcurrentEvaluations: 3, maxQueuedEvaluations: 0, standbyProcesses: 0, resultCacheSize: 64Mi, taskHandler: {maxConcurrentRenders: 3}}`,
	"tls":                 `tls: {secret: tls}`,
	"tls of cert-manager": `tls: {secret: tls, issuerRef: {name: ca, kind: ClusterIssuer}, clientCertificates: true}`,
	"callers": `tls: {secret: tls, minVersion: "1.2", clientCertificates: true, allowedClients: ["spiffe://a/*", b], tokenAudience: krmfn,
  allowedServiceAccounts: [porch-system/porch-server, tools/*]}`,
	"nulls":         `{pods: null, replicas: null, nodeSelector: null, tls: {minVersion: null}, monitoring: {dashboard: null}, resources: {limits: {cpu: null}}}`,
	"long messages": `maxRequestBodySize: 200000000`,
}

// placed returns scheduling values for the pods of a component; an empty name selects the function runner.
func placed(component string) string {
	const where = `{nodeSelector: {disk: ssd}, tolerations: [{key: a, operator: Exists}], priorityClassName: "1000",
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}}`
	if component == "" {
		return where
	}
	return component + ": " + where
}

func parseValues(t *testing.T, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &values); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return values
}

// onlySwitches is the prefix of the names of sets that consist of switches only.
const onlySwitches = "with "

// matrix returns all sets of values to render, keyed by name.
func matrix(t *testing.T) map[string]map[string]any {
	t.Helper()
	sets := map[string]map[string]any{}
	names := slices.Sorted(maps.Keys(switches))
	for chosen := range uint(1) << len(names) {
		if count := bits.OnesCount(chosen); count > 2 && count < len(names) {
			continue
		}
		values, on := map[string]any{}, []string{}
		for i, name := range names {
			if chosen>>i&1 == 1 {
				values, on = install.MergeValues(values, parseValues(t, switches[name])), append(on, name)
			}
		}
		sets[onlySwitches+strings.Join(on, ",")] = values
	}
	all := sets[onlySwitches+strings.Join(names, ",")]
	for name, text := range variants {
		values := parseValues(t, text)
		sets[name], sets[name+", all on"] = values, install.MergeValues(all, values)
	}
	maps.Copy(sets, documented(t))
	return sets
}

// rendered caches renderings by their values, because all tests use the same matrix.
var rendered sync.Map

// renderings returns the rendered matrix, keyed by name. Tests must not modify it.
func renderings(t *testing.T) map[string]*rendering {
	t.Helper()
	all := map[string]*rendering{}
	for name, values := range matrix(t) {
		all[name] = renderOnce(t, values)
	}
	return all
}

// renderOnce returns a rendering of values from the cache, and renders values that are not cached.
func renderOnce(t *testing.T, values map[string]any) *rendering {
	t.Helper()
	once, _ := rendered.LoadOrStore(fmt.Sprint(values), sync.OnceValues(func() (*rendering, error) { return renderChart(t, values) }))
	r, err := once.(func() (*rendering, error))()
	if err != nil {
		t.Fatalf("%v: %v", values, err)
	}
	return r
}

// eachRendering runs a parallel subtest for each rendering of the matrix.
func eachRendering(t *testing.T, test func(t *testing.T, r *rendering)) {
	t.Helper()
	for name, r := range renderings(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, r)
		})
	}
}

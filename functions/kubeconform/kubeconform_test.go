// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !light

package kubeconform

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestKubeconform(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		items  string
		config string // data of a ConfigMap
		want   []string
	}{
		"no items": {},
		"valid package": {
			items: functiontest.Package,
		},
		"valid package, strict": {
			items:  functiontest.Package,
			config: `{strict: "true"}`,
		},
		"wrong type": {
			items: "{apiVersion: v1, kind: ReplicationController, metadata: {name: bob}, spec: {replicas: many}}",
			want:  []string{"v1/ReplicationController/bob spec.replicas: got string, want null or integer"},
		},
		"wrong type of a required field": {
			items: "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: http}]}}",
			want:  []string{"v1/Service/s spec.ports[0].port: got string, want integer"},
		},
		"wrong type in place of an object": {
			items: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: [x]}",
			want:  []string{"apps/v1/Deployment/d spec: got array, want null or object"},
		},
		"wrong type in place of a required object": {
			items: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {selector: x, template: null}}",
			want: []string{
				"apps/v1/Deployment/d spec.selector: got string, want object",
				"apps/v1/Deployment/d spec.template: got null, want object",
			},
		},
		"missing required fields": {
			items: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: ns}, spec: {}}",
			want:  []string{"apps/v1/Deployment/ns/d spec: missing properties 'selector', 'template'"},
		},
		"missing required field in a list": {
			items: "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a}, {image: b}]}}",
			want:  []string{"v1/Pod/p spec.containers[1]: missing property 'name'"},
		},
		"null for a required field": {
			items: "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: null}}",
			want:  []string{"v1/Pod/p spec.containers: got null, want array"},
		},
		"unknown fields": {
			items: "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {tpye: x, prots: []}, specs: {}}",
		},
		"unknown fields, strict": {
			items:  "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {tpye: x, prots: []}, specs: {}}",
			config: `{strict: "true"}`,
			want: []string{
				"v1/Service/s: additional properties 'specs' not allowed",
				"v1/Service/s spec: additional properties 'prots', 'tpye' not allowed",
			},
		},
		"keys of maps are not fields, strict": {
			items:  "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {a: b}}, data: {c: d}}",
			config: `{strict: "true"}`,
		},
		"field given twice": {
			items: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}, data: {c: d}}",
		},
		"field given twice, strict": {
			items:  "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}, data: {c: d}}",
			config: `{strict: "true"}`,
			want: []string{"v1/ConfigMap/c: error unmarshalling resource: error converting YAML to JSON: " +
				`yaml: unmarshal errors: line 1: key "data" already set in map`},
		},
		"int-or-string and quantities": {
			items: `
apiVersion: v1
kind: Service
metadata: {name: s}
spec: {ports: [{port: 1, targetPort: true}, {port: 2, targetPort: 1.5}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: q}
spec: {hard: {cpu: true, memory: [1], pods: "10", configmaps: 1.5}}
`,
			want: []string{
				"v1/Service/s spec.ports[0].targetPort: got boolean, want null or integer or string",
				"v1/Service/s spec.ports[1].targetPort: got number, want null or integer or string",
				"v1/ResourceQuota/q spec.hard.cpu: got boolean, want null or number or string",
				"v1/ResourceQuota/q spec.hard.memory: got array, want null or number or string",
			},
		},
		"date": {
			items: `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, creationTimestamp: yesterday}}`,
			want:  []string{"v1/ConfigMap/c metadata.creationTimestamp: 'yesterday' is not valid date-time: less than 20 characters long"},
		},
		"YAML 1.1, like kubectl": {
			items: `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {debug: on, quoted: "on"}}`,
			want:  []string{"v1/ConfigMap/c data.debug: got boolean, want null or string"},
		},
		"every problem is a result, sorted by field": {
			items: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, labels: {app.kubernetes.io/version: 1.5, "1": 2}}
spec:
  replicas: two
  selector: {matchLabels: {a: b}}
  template:
    spec:
      containers: [{name: a}, {name: b}, {image: c, stdin: 1}, {name: d}, {}, {}, {}, {}, {}, {}, {name: 10}]
`,
			want: []string{
				"apps/v1/Deployment/d metadata.labels.1: got number, want null or string",
				"apps/v1/Deployment/d metadata.labels.app.kubernetes.io/version: got number, want null or string",
				"apps/v1/Deployment/d spec.replicas: got string, want null or integer",
				"apps/v1/Deployment/d spec.template.spec.containers[2]: missing property 'name'",
				"apps/v1/Deployment/d spec.template.spec.containers[2].stdin: got number, want null or boolean",
				"apps/v1/Deployment/d spec.template.spec.containers[4]: missing property 'name'",
				"apps/v1/Deployment/d spec.template.spec.containers[5]: missing property 'name'",
				"apps/v1/Deployment/d spec.template.spec.containers[6]: missing property 'name'",
				"apps/v1/Deployment/d spec.template.spec.containers[7]: missing property 'name'",
				"apps/v1/Deployment/d spec.template.spec.containers[8]: missing property 'name'",
				"apps/v1/Deployment/d spec.template.spec.containers[9]: missing property 'name'",
				"apps/v1/Deployment/d spec.template.spec.containers[10].name: got number, want string",
			},
		},
		"recursive schema": {
			items: `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: c}
spec:
  group: example.com
  names: {kind: Frog, plural: frogs}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {properties: {a: {properties: {b: {type: 1}}}}}}}
`,
			want: []string{"apiextensions.k8s.io/v1/CustomResourceDefinition/c " +
				"spec.versions[0].schema.openAPIV3Schema.properties.a.properties.b.type: got number, want null or string"},
		},
		"unknown kinds": {
			items: `
{apiVersion: example.com/v1, kind: Frog, metadata: {name: f}}
---
{apiVersion: extensions/v1beta1, kind: Ingress, metadata: {name: i}}
---
{apiVersion: apps.example.com/v1, kind: Deployment, metadata: {name: d}}
`,
			want: []string{
				"example.com/v1/Frog/f: " + missingSchema("Frog"),
				"extensions/v1beta1/Ingress/i: " + missingSchema("Ingress"),
				"apps.example.com/v1/Deployment/d: " + missingSchema("Deployment"),
			},
		},
		"unknown kind, strict": {
			items: `
{apiVersion: example.com/v1, kind: Frog, metadata: {name: f}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: two, selector: {}, template: {}}, templates: {}}
`,
			config: `{strict: "true"}`,
			want: []string{
				"apps/v1/Deployment/d: additional properties 'templates' not allowed",
				"apps/v1/Deployment/d spec.replicas: got string, want null or integer",
			},
		},
		"unknown kind, ignored": {
			items: `
{apiVersion: example.com/v1, kind: Frog, metadata: {name: f}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: []}
`,
			config: `{ignore_missing_schemas: "true"}`,
			want:   []string{"v1/ConfigMap/c data: got array, want null or object"},
		},
		"kind in wrong case": {
			items: `{apiVersion: v1, kind: configmap, metadata: {name: c}}`,
			want:  []string{"v1/configmap/c kind: value must be 'ConfigMap'"},
		},
		"skipped kinds": {
			items: `
{apiVersion: example.com/v1, kind: Frog, metadata: {name: f}}
---
{apiVersion: v1, kind: Service, metadata: {name: s}, spec: 1}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: 1}
---
{apiVersion: v1, kind: Secret, metadata: {name: t}, data: 1}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: 1}
`,
			config: `{skip_kinds: "Frog, v1/Service,v2/Secret,,pod,ConfigMap"}`,
			want: []string{
				"v1/Secret/t data: got number, want null or object",
				"v1/Pod/p spec: got number, want null or object",
			},
		},
		"no apiVersion, no kind": {
			items: "{kind: Pod, metadata: {name: p}}\n---\n{apiVersion: v1, kind: 5, metadata: {name: q}}",
			want: []string{
				"Pod/p apiVersion: missing 'apiVersion' key",
				"v1/q kind: missing 'kind' key",
			},
		},
		"local configuration": {
			items: `
{apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: k}, unknown: 1}
---
{apiVersion: fn.kpt.dev/v1alpha1, kind: StarlarkRun, metadata: {name: s}}
---
{apiVersion: kustomize.config.k8s.io/v1beta1, kind: Kustomization}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {config.kubernetes.io/local-config: "true"}}, data: 1}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: d, annotations: {config.kubernetes.io/local-config: "false"}}, data: 1}
---
{metadata: {annotations: {config.kubernetes.io/local-config: "true"}}, a: 1, a: 2}
`,
			config: `{strict: "true"}`,
			want:   []string{"v1/ConfigMap/d data: got number, want null or object"},
		},
		"list": {
			items: `
apiVersion: v1
kind: List
metadata: {name: l}
items:
- {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, spec: {containers: [{name: 1}]}}
- {apiVersion: kpt.dev/v1, kind: Kptfile}
- {metadata: {annotations: {config.kubernetes.io/local-config: "true"}}}
- {apiVersion: v1, kind: List, items: [{apiVersion: example.com/v1, kind: Frog}]}
- text
---
{apiVersion: v1, kind: List, items: 1}
---
{apiVersion: v1, kind: List}
`,
			want: []string{
				"v1/Pod/ns/p items[0].spec.containers[0].name: got number, want string",
				"example.com/v1/Frog items[3].items[0]: " + missingSchema("Frog"),
				"v1/List/l items[4]: want an object",
				"v1/List items: want an array",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rl := kubeconformList(t, test.items, test.config)
			before := rl.Items.String()
			ok, err := kubeconform(t.Context(), rl)
			if err != nil {
				t.Fatal(err)
			}
			if ok != (len(test.want) == 0) {
				t.Errorf("success = %t with %d problems", ok, len(test.want))
			}
			if diff := cmp.Diff(test.want, resultLines(t, rl.Results), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, rl.Items.String()); diff != "" {
				t.Errorf("items changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestKubevalReportsMissingSchemas(t *testing.T) {
	t.Parallel()
	for config, want := range map[string][]string{
		"{strict: 'true'}": {"example.com/v1/Frog/f: " + missingSchema("Frog")},
		"{strict: 'true', ignore_missing_schemas: 'true'}": nil,
	} {
		rl := kubeconformList(t, "{apiVersion: example.com/v1, kind: Frog, metadata: {name: f}}", config)
		if ok, err := Kubeval.Process(t.Context(), rl); ok != (want == nil) || err != nil {
			t.Errorf("%s: Process() = %t, %v", config, ok, err)
		}
		if diff := cmp.Diff(want, resultLines(t, rl.Results), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: results (-want +got):\n%s", config, diff)
		}
	}
}

func missingSchema(kind string) string {
	return "could not find schema for " + kind
}

// kubeconformList returns a list from YAML documents and the data of a ConfigMap.
func kubeconformList(tb testing.TB, items, config string) *fn.ResourceList {
	tb.Helper()
	rl := &fn.ResourceList{FunctionConfig: fn.NewEmptyKubeObject()}
	var err error
	if strings.TrimSpace(items) != "" {
		if rl.Items, err = fn.ParseKubeObjects([]byte(items)); err != nil {
			tb.Fatal(err)
		}
	}
	if config != "" {
		config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: " + config
		if rl.FunctionConfig, err = fn.ParseKubeObject([]byte(config)); err != nil {
			tb.Fatal(err)
		}
	}
	return rl
}

// resultLines formats results like kpt, without the severity, which must be error.
func resultLines(tb testing.TB, results fn.Results) []string {
	tb.Helper()
	lines := make([]string, 0, len(results))
	for _, result := range results {
		line, isError := strings.CutPrefix(result.String(), "[error] ")
		if !isError {
			tb.Errorf("result %q is not an error", result)
		}
		lines = append(lines, line)
	}
	return lines
}

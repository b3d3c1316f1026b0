// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// workItems are items that every function changes with its functionConfig in workConfigs.
const workItems = `
- apiVersion: apps/v1
  kind: StatefulSet
  metadata:
    name: web # kpt-set: ${name}
    namespace: old
    annotations:
      internal.config.kubernetes.io/path: 'web/set.yaml'
      internal.config.kubernetes.io/index: '0'
      config.kubernetes.io/depends-on: /namespaces/default/Service/web
  spec:
    replicas: 1 # kpt-set: ${replicas}
    selector: {matchLabels: {app: web}}
    template:
      metadata:
        labels: {app: web, tier: "old"}
        annotations: {note: 'old'} # keep
      spec:
        containers:
        - name: web
          image: nginx:1.2 # kpt-set: ${image}:${tag}
          args: [a, b] # kpt-set: ${args}
        - name: side
          image: busybox
          args: # kpt-set: ${none}
          - a
    volumeClaimTemplates:
    - metadata: {name: v}
- apiVersion: v1
  kind: Service
  metadata: {name: web, annotations: {internal.config.kubernetes.io/path: web/service.yaml}}
  spec:
    selector: {app: web}
    # below
- apiVersion: batch/v1
  kind: CronJob
  metadata: {name: c}
  spec: {jobTemplate: {spec: {template: {spec: {}}}}}
- apiVersion: v1
  kind: Namespace
  metadata: {name: old}
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k, annotations: {config.kubernetes.io/local-config: "true"}}
`

// workConfigs are functionConfigs with which each function changes workItems.
var workConfigs = map[string]string{
	"set-namespace":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {namespace: new}\n",
	"set-labels":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {tier: '1', on: 'yes', app: new}\n",
	"set-annotations": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {note: '1', on: 'yes'}\n",
	"apply-setters": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n" +
		"data: {name: new, replicas: '3', image: x/y, args: '[c, {d: e}]', none: ''}\n",
	"apply-replacements": "apiVersion: fn.kpt.dev/v1alpha1\nkind: ApplyReplacements\nmetadata: {name: r}\nreplacements:\n- " + ("source: {kind: Service, name: web, fieldPath: metadata.name}\n" +
		"  targets: [{select: {kind: StatefulSet}, fieldPaths: [spec.serviceName], options: {create: true}}]\n"),
	"starlark": "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\n" +
		"source: 'for r in ctx.resource_list[\"items\"]: r[\"metadata\"][\"namespace\"] = \"new\"'\n",
	"ensure-name-substring": "apiVersion: fn.kpt.dev/v1alpha1\nkind: EnsureNameSubstring\nmetadata: {name: c}\nsubstring: -x\n" +
		"editMode: append\nadditionalNameFields:\n- {kind: CronJob, path: metadata/labels/of, create: true}\n",
	"delete-annotations": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n" +
		"data: {annotationKeys: 'config.kubernetes.io/depends-on,none'}\n",
	"format":          "{}",
	"set-name-prefix": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {prefix: new-}\n",
	"upsert-resource": "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  annotations: {z: '1', b: c}\nspec: {ports: [1]}\n",
	"set-project-id":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {project-id: '1'}\n",
}

// TestIdempotent runs functions on their own output. The second run must change nothing.
func TestIdempotent(t *testing.T) {
	t.Parallel()
	for name, config := range workConfigs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, ok := Lookup(name)
			if !ok {
				t.Fatal("unknown function")
			}
			before := []byte(functiontest.List(workItems, config))
			once := itemsAfter(t, f, before)
			if cmp.Equal(string(once), string(itemsAfter(t, functiontest.Pass, before))) {
				t.Error("the function changes nothing, want a change")
			}
			if diff := cmp.Diff(string(once), string(itemsAfter(t, f, once))); diff != "" {
				t.Errorf("items (-first run +second run):\n%s", diff)
			}
		})
	}
}

// itemsAfter runs f on a list and returns the output without the results.
func itemsAfter(t *testing.T, f function.Function, in []byte) []byte {
	t.Helper()
	out, err := function.Run(t.Context(), f, in)
	if err != nil {
		t.Fatalf("error = %v; output:\n%s", err, out)
	}
	rl, err := fn.ParseResourceList(out)
	if err != nil {
		t.Fatal(err)
	}
	rl.Results = nil
	text, err := rl.ToYAML()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

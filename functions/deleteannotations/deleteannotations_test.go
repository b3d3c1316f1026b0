// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package deleteannotations

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestDeleteAnnotations(t *testing.T) {
	t.Parallel()
	const items = `
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a
    annotations:
      keep: 'yes' # kept
      annotation-to-delete: "x"
      internal.config.kubernetes.io/path: 'a.yaml'
- {apiVersion: v1, kind: Secret, metadata: {name: b, annotations: {annotation-to-delete: x, other: y}, namespace: n}}
- {apiVersion: v1, kind: Secret, metadata: {name: c, annotations: {keep: x}}}
- {kind: A}
`
	const want = `
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a
    annotations:
      keep: 'yes' # kept
      internal.config.kubernetes.io/path: 'a.yaml'
- {apiVersion: v1, kind: Secret, metadata: {name: b, namespace: n}}
- {apiVersion: v1, kind: Secret, metadata: {name: c, annotations: {keep: x}}}
- {kind: A}
results:
- file:
    path: a.yaml
  message: 'Annotation: [annotation-to-delete] removed from resource: [a]'
  severity: info
- message: 'Annotation: [other] removed from resource: [b]'
  severity: info
- message: 'Annotation: [annotation-to-delete] removed from resource: [b]'
  severity: info
`
	cases := []functiontest.Case{
		{
			Name:   "a comma-separated list with spaces, an empty element and a duplicate",
			Config: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {annotationKeys: 'other, annotation-to-delete ,,other'}\n",
			Items:  items, Want: want,
		},
		{
			Name:   "nothing to delete",
			Config: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {annotationKeys: a}",
			Items:  "- {apiVersion: v1, kind: Secret, metadata: {name: b, annotations: x}}\n",
			Want: "items:\n- {apiVersion: v1, kind: Secret, metadata: {name: b, annotations: x}}\n" +
				"results:\n- message: None of the resources had the provided annotations to delete\n  severity: info\n",
		},
		{
			Name:   "an alias of the changed annotations",
			Config: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {annotationKeys: a}",
			Items:  "- {kind: A, metadata: {name: n, annotations: &a {a: x, b: y}}, x: *a}\n",
			Want: "items:\n- {kind: A, metadata: {name: n, annotations: &a {b: y}}, x: {a: x, b: y}}\n" +
				"results:\n- message: 'Annotation: [a] removed from resource: [n]'\n  severity: info\n",
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
	functiontest.EvaluateTwice(t, Function, cases)
}

func TestDeleteAnnotationsBadConfig(t *testing.T) {
	t.Parallel()
	const ref = "\n    name: c\n    apiVersion: v1\n    kind: ConfigMap"
	for name, c := range map[string]struct{ config, message, ref string }{
		"none":           {"", "'functionConfig is missing: want a v1 ConfigMap'", " {}"},
		"no keys":        {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}", "'annotationKeys was not provided: name at least one annotation'", ref},
		"only commas":    {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {annotationKeys: ' , '}", "'annotationKeys was not provided: name at least one annotation'", ref},
		"data is a list": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: []", "data of the functionConfig is not a map", ref},
		"another kind":   {"apiVersion: v1\nkind: Secret\nmetadata: {name: c}", "'functionConfig is a v1 Secret: want a v1 ConfigMap'", "\n    name: c\n    apiVersion: v1\n    kind: Secret"},
	} {
		functiontest.EvaluateAll(t, Function, []functiontest.Case{{
			Name: name, Config: c.config, Items: "- {kind: A}\n",
			Want: "items:\n- {kind: A}\nresults:\n- file:\n    index: -1\n  message: " + c.message + "\n  resourceRef:" + c.ref + "\n  severity: error\n",
			Err:  functiontest.Failed,
		}})
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package applyreplacements

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

// replacementConfig is a functionConfig with one replacement.
func replacementConfig(replacement string) string {
	return "apiVersion: fn.kpt.dev/v1alpha1\nkind: ApplyReplacements\nmetadata: {name: r}\nreplacements:\n- " + replacement
}

const replacementItems = `
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: target}
  data:
    plain: old # keep
    quoted: 'old'
    number: 4
    nothing: ~
    list: [a, b]
    containers:
    - name: a
      image: nginx:1.1
    - name: b
      image: busybox:1.1
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: zsource}
  data: {v: "12", image: 'nginx:1.2', word: http, map: {a: 'b'}} # source
`

func TestApplyReplacements(t *testing.T) {
	t.Parallel()
	target := func(data string) string {
		return `items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: target}
  data:
` + data + `- apiVersion: v1
  kind: ConfigMap
  metadata: {name: zsource}
  data: {v: "12", image: 'nginx:1.2', word: http, map: {a: 'b'}} # source
`
	}
	const lists = `    list: [a, b]
    containers:
    - name: a
      image: nginx:1.1
    - name: b
      image: busybox:1.1
`
	functiontest.EvaluateAll(t, Function, []functiontest.Case{
		{
			Name: "a scalar gets the text and keeps its type",
			Config: replacementConfig(`source: {kind: ConfigMap, name: zsource, fieldPath: data.v}
  targets:
  - select: {name: target}
    fieldPaths: [data.plain, data.quoted, data.number]
`),
			Items: replacementItems,
			Want: target(`    plain: "12" # keep
    quoted: '12'
    number: 12
    nothing: ~
` + lists),
		},
		{
			Name: "a wrong type tag is dropped",
			Config: replacementConfig(`source: {kind: ConfigMap, name: zsource, fieldPath: data.word}
  targets:
  - select: {name: target}
    fieldPaths: [data.nothing, data.number]
`),
			Items: replacementItems,
			Want: target(`    plain: old # keep
    quoted: 'old'
    number: http
    nothing: http
` + lists),
		},
		{
			Name: "parts, list elements by field and by index",
			Config: replacementConfig(`source: {kind: ConfigMap, name: zsource, fieldPath: data.image, options: {delimiter: ':', index: 1}}
  targets:
  - select: {name: target}
    fieldPaths: ['data.containers.[name=b].image', data.containers.0.image]
    options: {delimiter: ':', index: 1}
  - select: {name: target}
    fieldPaths: [data.plain]
    options: {delimiter: '-', index: -1}
`),
			Items: replacementItems,
			Want: target(`    plain: 1.2-old # keep
    quoted: 'old'
    number: 4
    nothing: ~
    list: [a, b]
    containers:
    - name: a
      image: nginx:1.2
    - name: b
      image: busybox:1.2
`),
		},
		{
			Name: "create",
			Config: replacementConfig(`source: {kind: ConfigMap, name: zsource, fieldPath: data.v}
  targets:
  - select: {name: target}
    reject: [{name: nothing}]
    fieldPaths: [data.made.here]
    options: {create: true}
- source: {name: zsource, fieldPath: data.map}
  targets:
  - select: {name: target}
    fieldPaths: [data.copy]
    options: {create: true}
`),
			Items: replacementItems,
			Want: target(`    plain: old # keep
    quoted: 'old'
    number: 4
    nothing: ~
` + lists + `    made:
      here: 12
    copy: {a: 'b'}
`),
		},
		{
			Name: "a value from the functionConfig and missing targets",
			Config: replacementConfig(`sourceValue: q
  targets:
  - select: {kind: ConfigMap, annotationSelector: a=b}
  - select: {kind: Secret}
  - select: {name: target}
    fieldPaths: [data.plain]
`),
			Items: replacementItems,
			Want: target(`    plain: q # keep
    quoted: 'old'
    number: 4
    nothing: ~
` + lists),
		},
		{
			Name:   "no replacements",
			Config: "apiVersion: fn.kpt.dev/v1alpha1\nkind: ApplyReplacements\nmetadata: {name: r}\n",
			Items:  "- {kind: A, metadata: {name: b}}\n",
			Want:   "items:\n- {kind: A, metadata: {name: b}}\n",
		},
	})
}

func TestApplyReplacementsErrors(t *testing.T) {
	t.Parallel()
	const item = "- {apiVersion: v1, kind: ConfigMap, metadata: {name: src}, data: {v: 'nginx:1.2', m: {a: b}}}\n"
	var cases []functiontest.Case
	for _, test := range []struct{ name, config, message string }{
		{"no functionConfig", "", "FunctionConfig is missing. Expect `ApplyReplacements`"},
		{
			"another kind of functionConfig", "apiVersion: v1\nkind: ConfigMap\n",
			"received functionConfig of kind ConfigMap and apiVersion v1, only functionConfig of kind ApplyReplacements " +
				"and apiVersion fn.kpt.dev/v1alpha1 is supported",
		},
		{
			"no source", replacementConfig("targets: []\n"),
			"replacements must specify a source and at least one target",
		},
		{
			"a source that is not there", replacementConfig("source: {name: x}\n  targets: []\n"),
			"nothing selected by [noKind].[noVer].[noGrp]/x.[noNs]",
		},
		{
			"a field that the source lacks", replacementConfig("source: {name: src, fieldPath: data.nope}\n  targets: []\n"),
			"fieldPath `data.nope` is missing for replacement source [noKind].[noVer].[noGrp]/src.[noNs]",
		},
		{
			"a part of a map",
			replacementConfig("source: {name: src, fieldPath: data.m, options: {delimiter: x}}\n  targets: []\n"),
			"delimiter option can only be used with scalar nodes",
		},
		{
			"a part that is not there",
			replacementConfig("source: {name: src, fieldPath: data.v, options: {delimiter: ':', index: 5}}\n  targets: []\n"),
			"options.index 5 is out of bounds for value nginx:1.2",
		},
		{
			"a target without select", replacementConfig("source: {name: src}\n  targets: [{fieldPaths: [a]}]\n"),
			"target must specify resources to select",
		},
		{
			"a field that the target lacks",
			replacementConfig("source: {name: src}\n  targets: [{select: {name: src}, fieldPaths: [spec.nope]}]\n"),
			`unable to find field "spec.nope" in replacement target`,
		},
		{
			"a null target", replacementConfig("source: {name: src}\n  targets: [null]\n"),
			"targets and reject lists of a replacement must not contain null",
		},
		{
			"a null reject", replacementConfig("source: {name: src}\n  targets: [{select: {}, reject: [null]}]\n"),
			"targets and reject lists of a replacement must not contain null",
		},
	} {
		cases = append(cases, functiontest.Case{
			Name: test.name, Config: test.config, Items: item,
			Want: "items:\n" + item + "results:\n- message: " + test.message + "\n  severity: error\n",
			Err:  functiontest.Failed,
		})
	}
	functiontest.EvaluateAll(t, Function, cases)
}

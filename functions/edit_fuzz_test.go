// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// FuzzEdits checks properties of the functions that edit fields for arbitrary input: no panic; the output is a ResourceList and
// explains failures; an error result causes an error; a second run changes nothing.
func FuzzEdits(f *testing.F) {
	add := func(function, items, data string) { f.Add(function, items, data) }
	add("set-image", "{kind: Pod, spec: {containers: [{image: 'nginx:1'}]}}", "{name: nginx, newTag: 2.0}")
	add("set-image", "{kind: Pod, spec: &s {containers: &c [*c, {image: *s}]}}", "{name: '', digest: ''}")
	add("set-image", "{kind: Deployment, spec: {template: {spec: [{containers: {image: ~}}]}}}", "{name: n, newName: n}")
	add("search-replace", "{kind: A, a: [x, {b: x}] # c\n}", "{by-path: '**', put-value: y, put-comment: c}")
	add("search-replace", "kind: A\nmetadata: x\n", "{by-path: metadata.annotations.a, put-value: '- '}")
	add("search-replace", "kind: A\nmetadata: {}\n", "{by-path: metadata, put-value: 'x'}")
	add("search-replace", "kind: A\na: {l: [b, c]}", "{by-path: a.*, put-comment: c, by-file-path: '{**,[a-z]}/*'}")
	add("search-replace", "kind: A\na: xyx", "{by-value-regex: 'x(.)', put-value: '${1}${1}'}")
	add("create-setters", "kind: A\na: {l: [b, c], k: b}\nm: [[b]]", "{b: b, l: '[c, b]', e: '[]'}")
	add("create-setters", "kind: A\na: &a [b]\nc: *a\nd: |\n  b\n", "{b: b, c: b}")
	add("list-setters", "kind: A\na: b-c # kpt-set: ${b}-${c}\nl: # kpt-set: ${l}\n- a\n", "{}")
	add("list-setters", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {annotations: {config.kubernetes.io/path: Kptfile}}", "")
	add("remove-local-config-resources", "metadata: {annotations: {config.kubernetes.io/local-config: true}}", "")
	add("remove-local-config-resources", "metadata: [annotations, {}]", "")
	add("set-enforcement-action", "{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: A, metadata: {name: a}, spec: ~}",
		"{enforcementAction: deny}")
	add("ensure-name-substring", "{apiVersion: v1, kind: ConfigMap, metadata: {name: &a a}, x: *a}", "{append: -1}")
	add("ensure-name-substring", "{kind: Pod, metadata: {name: c}, spec: {volumes: [configMap: {name: ~}]}}", "{prepend: on}")
	add("ensure-name-substring", "{kind: A, metadata: {name: a, annotations: {config.kubernetes.io/depends-on: '/A/a,'}}}", "{prepend: x/}")
	add("upsert-resource", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {a: &a [*a]}}}", "{a: &b b, c: *b}")
	add("set-project-id", "{apiVersion: kpt.dev/v1, kind: Kptfile, pipeline: {mutators: [image: apply-setters, configPath: /]}}",
		"{project-id: a}")
	add("set-project-id", "apiVersion: kpt.dev/v1\nkind: Kptfile\npipeline: ~ # c\n", "{project-id: '- '}")

	add("delete-annotations", "{kind: A, metadata: {annotations: &a {a: b, c: *a}}, x: *a}", "{annotationKeys: a}")
	add("delete-annotations", "{kind: A, metadata: [annotations, {a: b}]}", "{annotationKeys: a}")
	add("fix", "apiVersion: kpt.dev/v1alpha1\nkind: Kptfile\npackageMetadata: {email: a, tags: ~}\nupstream: {git: [a]}\nopenAPI: "+
		"{definitions: {io.k8s.cli.setters.a: ~, io.k8s.cli.substitutions.s: {x-k8s-cli: {substitution: {values: {a: b}}}}}}\n"+
		"---\na: b # {\"$openapi\":\"s\"}\nmetadata: {annotations: {config.k8s.io/function: 'image: x'}}\n", "{}")
	add("format", "apiVersion: v1\nkind: Pod\nspec: {b: &a on, a: *a, ? [c] : d, containers: [{name: b}, {name: a}, c]}\n# foot\n", "{}")
	add("set-name-prefix", "{kind: Pod, metadata: {name: on}, spec: {volumes: [configMap: {name: ~}]}}", "{prefix: on}")

	edits := map[string]bool{ // values: whether a second run changes nothing. A replacement may match again.
		"set-image": false, "search-replace": false, "create-setters": true, "list-setters": true,
		"remove-local-config-resources": true, "set-enforcement-action": true,
		"ensure-name-substring": true, "upsert-resource": true, "set-project-id": true,
		"delete-annotations": true, "fix": true, "format": true, "set-name-prefix": true,
	}
	quiet := map[string]bool{"ensure-name-substring": true, "upsert-resource": true, "set-project-id": true, "format": true, "set-name-prefix": true}
	f.Fuzz(func(t *testing.T, name, items, data string) {
		settles, ok := edits[name]
		if !ok {
			return
		}
		input := fuzzList(items, data)
		if input == nil {
			return
		}
		tested, _ := Lookup(name)
		out, runErr := function.Run(t.Context(), tested, input)
		if out == nil {
			if expandErr := "the resource is too large with its YAML aliases expanded: the limit is 100000 nodes"; functiontest.ErrorText(runErr) != expandErr {
				t.Fatalf("no output, error = %v", runErr)
			}
			return
		}
		rl, err := fn.ParseResourceList(out)
		if err != nil {
			t.Fatalf("the output is not a ResourceList: %v\n%s", err, out)
		}
		if failed := rl.Results.ExitCode() != 0; len(rl.Results) == 0 && !quiet[name] || failed != (runErr != nil) {
			t.Errorf("error = %v with results %s", runErr, rl.Results.Error())
		}
		if runErr != nil || !settles {
			return
		}
		again, err := function.Run(t.Context(), tested, out)
		if err != nil {
			t.Fatalf("error of the second run = %v", err)
		}
		if diff := cmp.Diff(fuzzItems(t, out), fuzzItems(t, again)); diff != "" {
			t.Errorf("items of the second run (-first +second):\n%s", diff)
		}
	})
}

// fuzzList returns a ResourceList from YAML documents and the data of a ConfigMap. It returns nil if the SDK cannot parse or
// print them.
func fuzzList(items, data string) (input []byte) {
	defer func() {
		if recover() != nil {
			input = nil
		}
	}()
	objects, err := fn.ParseKubeObjects([]byte(items))
	if err != nil {
		return nil
	}
	config, err := fn.ParseKubeObject([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: " + data))
	if err != nil {
		return nil
	}
	first, err := (&fn.ResourceList{Items: objects, FunctionConfig: config}).ToYAML()
	if err != nil {
		return nil
	}
	input, err = function.Run(context.Background(), functiontest.Pass, first)
	if err != nil {
		return nil
	}
	return input
}

// fuzzItems returns a list without its results.
func fuzzItems(t interface{ Fatal(...any) }, list []byte) string {
	rl, err := fn.ParseResourceList(list)
	if err != nil {
		t.Fatal(err)
	}
	rl.Results = nil
	text, err := rl.ToYAML()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

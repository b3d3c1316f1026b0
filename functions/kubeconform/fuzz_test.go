// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !light

package kubeconform

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

// FuzzKubeconform checks properties for arbitrary input: no panic, success if and only if there are no results, results of one
// line, and the same results in a second run.
func FuzzKubeconform(f *testing.F) {
	f.Add(functiontest.Package, "{}")
	f.Add("{apiVersion: v1, kind: Pod, metadata: [], spec: {containers: [1, {}, {name: {}}]}}", "{strict: 'true'}")
	f.Add("{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: List, items: [null]}]}", "{skip_kinds: 'a,,b'}")
	f.Add("{apiVersion: v1, kind: ConfigMap, data: {1: 2, ~: 3, [a]: b}}", "{ignore_missing_schemas: true}")
	f.Add("a: &a [1]\nb: *a\napiVersion: v1\nkind: ConfigMap", "[1]")
	f.Add("apiVersion: v1\nkind: ConfigMap\nkind: Secret\ndata: !!binary x", "{strict: '?'}")

	f.Fuzz(func(t *testing.T, items, data string) {
		objects, err := fn.ParseKubeObjects([]byte(items))
		if err != nil {
			return
		}
		config, err := fn.ParseKubeObject([]byte("apiVersion: v1\nkind: ConfigMap\ndata: " + data))
		if err != nil {
			return
		}
		options, err := parseOptions(config)
		if err == nil && !slices.Equal(options.locations, []string{bundledSchemas}) {
			return // other locations would read files and contact servers
		}
		run := func() fn.Results {
			rl := &fn.ResourceList{Items: objects, FunctionConfig: config}
			ok, err := kubeconform(t.Context(), rl)
			if err != nil {
				t.Fatal(err)
			}
			if ok != (len(rl.Results) == 0) {
				t.Errorf("success = %t with %d results", ok, len(rl.Results))
			}
			return rl.Results
		}
		first := run()
		if diff := cmp.Diff(first, run()); diff != "" {
			t.Errorf("the second run has other results (-first +second):\n%s", diff)
		}
		if slices.ContainsFunc(first, func(r *fn.Result) bool {
			return r.Severity != fn.Error || r.Message == "" || strings.Contains(r.Message, "\n")
		}) {
			t.Errorf("result is not an error of one line: %s", first.Error())
		}
	})
}

// BenchmarkKubeconform validates ten resources. Nothing is cached between iterations, as with one process per call.
func BenchmarkKubeconform(b *testing.B) {
	rl := kubeconformList(b, functiontest.Package+"\n---\n"+functiontest.Package, "")
	for b.Loop() {
		rl.Results = nil
		if ok, err := kubeconform(b.Context(), rl); !ok || err != nil {
			b.Fatalf("kubeconform() = %t, %v, results %s", ok, err, rl.Results.Error())
		}
	}
}

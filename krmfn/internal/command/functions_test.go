// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
)

func TestFunctions(t *testing.T) {
	t.Parallel()
	for evaluator, isolate := range map[string]string{"builtin": "--isolate=false", "exec": "--isolate"} {
		contains(t, timeless(krmfn(t, "functions", isolate).ok(t).out), "NAME   EVALUATOR   IMPLEMENTATION   SUMMARY\n",
			"\nset-labels   "+evaluator+"   set-labels VERSION (curated)   sets labels on resources",
			"\nImages (any tag):\n  NAME\n  gcr.io/kpt-fn/NAME\n  ghcr.io/kptdev/krm-functions-catalog/NAME\n")
	}
	strict := krmfn(t, "functions", "--strict-versions").ok(t)
	contains(t, strict.out, "IMAGES", "ghcr.io/kptdev/krm-functions-catalog/set-labels:v")
	for _, args := range [][]string{nil, {"--isolate"}} {
		var doc struct {
			Functions []struct {
				Name, Evaluator, Implementation, Summary string
				Images                                   []string
				AnyTag                                   bool
			}
		}
		got := krmfn(t, append([]string{"functions", "-o", "json"}, args...)...).ok(t)
		if err := json.Unmarshal([]byte(got.out), &doc); err != nil {
			t.Fatal(err)
		}
		for _, f := range doc.Functions {
			if f.Name == "" || f.Summary == "" || f.Implementation == "" || f.Evaluator == "" || len(f.Images) != 3 || !f.AnyTag {
				t.Errorf("%v: got %+v", args, f)
			}
		}
		if len(doc.Functions) < 7 {
			t.Errorf("%v: got %d functions", args, len(doc.Functions))
		}
	}
}

func TestManual(t *testing.T) {
	t.Parallel()
	golden(t, "manual.txt", krmfn(t, "functions", "set-enforcement-action").ok(t).out)
	contains(t, krmfn(t, "functions", "ghcr.io/kptdev/krm-functions-catalog/kubeval:v0.3").ok(t).out, "kubeval v0.3.0\n", "It is evaluated by kubeconform v")
	narrow := invocation{args: []string{"functions", "set-labels", "--color=never"}, width: 60}.run(t.Context(), t).ok(t).out
	for line := range strings.Lines(narrow) {
		if utf8.RuneCountInString(line) > 61 {
			t.Errorf("more than 60 columns: %s", line)
		}
	}
	var doc struct {
		Name, Version, Description string
		Tags                       []string
		Configuration              []struct {
			Fields []struct{ Name, Type, Meaning string }
		}
		Example     struct{ FunctionConfig, Input, Output string }
		Differences []struct{ Catalog, Here string }
	}
	got := krmfn(t, "functions", "set-namespace", "-o", "json").ok(t)
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Name != "set-namespace" || doc.Version == "" || len(doc.Tags) != 2 || doc.Example.Output == "" || len(doc.Differences) == 0 ||
		len(doc.Configuration) != 3 || doc.Configuration[0].Fields[0].Name != "data.namespace" || doc.Configuration[0].Fields[0].Type != "string, required" {
		t.Errorf("got %+v", doc)
	}
	for want, args := range map[string][]string{
		`krmfn has no function "set-lables": did you mean set-labels? Otherwise see`: {"set-lables"},
		`krmfn has no function "r.io/own:v1": see`:                                   {"r.io/own:v1"},
		"krmfn has manuals only for the curated functions: leave out --runner":       {"set-labels", "--runner=x:1"},
	} {
		got := krmfn(t, append([]string{"functions"}, args...)...)
		if got.code != failure.Failed || got.out != "" {
			t.Errorf("%v: exit code %d and %q", args, got.code, got.out)
		}
		contains(t, got.err, want)
	}
	contains(t, krmfn(t, "__complete", "functions", "set-l").ok(t).out, "set-labels\tsets labels")
}

func TestVersion(t *testing.T) {
	t.Parallel()
	contains(t, krmfn(t, "version").ok(t).out, "krmfn ", "(go1.")
	var doc struct{ Version, Go, Platform string }
	if err := json.Unmarshal([]byte(krmfn(t, "version", "-o=json").ok(t).out), &doc); err != nil || doc.Version == "" || doc.Go == "" || doc.Platform == "" {
		t.Errorf("got %+v and error %v", doc, err)
	}
}

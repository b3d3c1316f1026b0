// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"testing"
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

func TestVersion(t *testing.T) {
	t.Parallel()
	contains(t, krmfn(t, "version").ok(t).out, "krmfn ", "(go1.")
	var doc struct{ Version, Go, Platform string }
	if err := json.Unmarshal([]byte(krmfn(t, "version", "-o=json").ok(t).out), &doc); err != nil || doc.Version == "" || doc.Go == "" || doc.Platform == "" {
		t.Errorf("got %+v and error %v", doc, err)
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
)

func TestAttribution(t *testing.T) {
	t.Parallel()
	bucket := func(annotations string) string {
		return "apiVersion: storage.cnrm.cloud.google.com/v1beta1\nkind: StorageBucket\nmetadata:\n  name: b\n" + annotations
	}
	const key = "cnrm.cloud.google.com/blueprint: "
	for before, want := range map[string]string{
		"":                                   "  annotations:\n    " + key + "'krm-fn'\n",
		"  annotations:\n    a: b\n":         "  annotations:\n    a: b\n    " + key + "'krm-fn'\n",
		"  annotations:\n    " + key + "x\n": "  annotations:\n    " + key + "x,krm-fn\n",
		"  annotations:\n    " + key + "krm-pkg\n":          "  annotations:\n    " + key + "krm-pkg-fn\n",
		"  annotations:\n    " + key + "x,krm-pkg-live,y\n": "  annotations:\n    " + key + "x,krm-pkg-fn-live,y\n",
	} {
		files := map[string]string{"Kptfile": kpt(""), "sub/Kptfile": kpt(""), "sub/b.yaml": bucket(before), "a.yaml": cm("a")}
		for _, off := range []bool{false, true} {
			source, err := packages.NewMemory(files)
			if err != nil {
				t.Fatal(err)
			}
			result, err := render.Package(t.Context(), source, render.Options{NoAttribution: off})
			if err != nil {
				t.Fatal(err)
			}
			source.Apply(result.Output.Changes)
			expected := map[string]string{"Kptfile": kpt(""), "sub/Kptfile": kpt(""), "sub/b.yaml": bucket(want), "a.yaml": cm("a")}
			if off {
				expected["sub/b.yaml"] = bucket(before)
			}
			if diff := cmp.Diff(expected, source.Files()); diff != "" {
				t.Errorf("resources (-want +got):\n%s", diff)
			}
		}
	}
}

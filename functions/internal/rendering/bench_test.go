// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package rendering_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
)

// BenchmarkRenderBuiltin renders ConfigMaps, ten per file, with three built-in functions.
func BenchmarkRenderBuiltin(b *testing.B) {
	for _, count := range []int{100, 1000, 5000} {
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			files := map[string]string{"Kptfile": kpt("pipeline:\n  mutators:\n" + steps("{image: set-namespace, configMap: {namespace: shop}}",
				"{image: set-labels, configMap: {a: b}}", "{image: set-annotations, configMap: {a: b}}"))}
			for i := range count {
				file := fmt.Sprintf("dir/file-%d.yaml", i/10)
				files[file] += "---\n" + cm(fmt.Sprintf("cm-%d", i)) + "data:\n  key: value # comment\n  other: \"1\"\n"
			}
			b.ReportAllocs()
			for b.Loop() {
				source, err := packages.NewMemory(files)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := render.Package(b.Context(), source, builtin()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

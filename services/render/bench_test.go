// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
)

// BenchmarkRender renders ConfigMaps, ten to a file, through three functions that return what they get: what is left is
// the render's own time.
func BenchmarkRender(b *testing.B) {
	echo := evaluation.Func(func(_ context.Context, req evaluation.Request) (evaluation.Response, error) {
		return evaluation.Response{ResourceList: req.ResourceList, Report: &evaluationv1.Evaluation{}}, nil
	})
	for _, count := range []int{100, 1000, 5000} {
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			files := map[string]string{"Kptfile": kpt(mutators("one", "two", "three"))}
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
				if _, err := render.Package(b.Context(), source, render.Options{Evaluator: echo}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

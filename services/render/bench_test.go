// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
)

// echo returns its input, printed and parsed.
var echo = evaluation.Func(func(_ context.Context, req evaluation.Request) (evaluation.Response, error) {
	return evaluation.Response{ResourceList: req.ResourceList, Report: &evaluationv1.Evaluation{}}, nil
})

// echoList returns its input as a list in memory.
type echoList struct{ evaluation.Evaluator }

func (echoList) EvaluateList(context.Context, string, *fn.ResourceList) (*evaluationv1.Evaluation, error) {
	return &evaluationv1.Evaluation{}, nil
}

// BenchmarkRender renders ConfigMaps, ten per file, with three functions that return their input, over bytes and in memory. It
// measures the render's own time and memory.
func BenchmarkRender(b *testing.B) {
	for _, count := range []int{100, 1000, 10000} {
		benchmarkRender(b, "bytes", count, echo)
		benchmarkRender(b, "list", count, echoList{echo})
	}
}

func benchmarkRender(b *testing.B, way string, count int, evaluator evaluation.Evaluator) {
	b.Helper()
	b.Run(fmt.Sprintf("%s/%d", way, count), func(b *testing.B) {
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
			if _, err := render.Package(b.Context(), source, render.Options{Evaluator: evaluator}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
)

// treeFunctions are the functions in the pipelines of random packages.
var treeFunctions = functions{
	"mark:latest": mark("m"),
	"drop:latest": items(func(nodes []*yaml.RNode) []*yaml.RNode {
		var kept []*yaml.RNode
		for i, n := range nodes {
			if i%3 != 2 || resource.Kind(n) == "Kptfile" {
				kept = append(kept, n)
			}
		}
		return kept
	}),
	"add:latest": items(func(nodes []*yaml.RNode) []*yaml.RNode {
		return append(nodes, yaml.MustParse(cm(fmt.Sprintf("added-%d", len(nodes)))))
	}),
	"bad:latest":   func([]byte) ([]byte, error) { return []byte(listHead + "items: []\n"), errors.New("exit status 1") },
	"empty:latest": returns(listHead + "items: []\n"),
}

// drawTree draws a tree of packages.
func drawTree(t *rapid.T, failing bool) map[string]string {
	names := []string{"mark", "mark", "drop", "add"}
	if failing {
		names = append(names, "bad", "unknown", "empty", "{exec: x}", "{image: a, exec: b}")
	}
	files := map[string]string{}
	dirs := []string{""}
	for i := range rapid.IntRange(0, 7).Draw(t, "packages") {
		parent := rapid.SampledFrom(dirs).Draw(t, "parent")
		dirs = append(dirs, parent+rapid.SampledFrom([]string{"p", "dir/p", "p-"}).Draw(t, "dir")+strconv.Itoa(i)+"/")
	}
	bfs := rapid.Bool().Draw(t, "bfs")
	save := rapid.Bool().Draw(t, "save")
	for _, dir := range dirs {
		var text strings.Builder
		if dir == "" {
			fmt.Fprintf(&text, "  annotations: {kpt.dev/bfs-rendering: \"%t\", kpt.dev/save-on-render-failure: \"%t\"}\n", bfs, save)
		}
		if list := rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(t, "mutators"); len(list) > 0 {
			text.WriteString(mutators(list...))
		}
		files[dir+"Kptfile"] = kpt(text.String())
		for i := range rapid.IntRange(0, 2).Draw(t, "files") {
			files[fmt.Sprintf("%sf%d.yaml", dir, i)] = "# c\n" + cm(fmt.Sprintf("n%d", i))
		}
	}
	if failing && rapid.IntRange(0, 9).Draw(t, "broken") == 0 {
		files[rapid.SampledFrom(dirs).Draw(t, "where")+"Kptfile"] = "kind: nothing\n"
	}
	return files
}

// everything returns all results of a render as text, except durations.
func everything(t *rapid.T, files map[string]string, parallel int) string {
	source, err := packages.NewMemory(files)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	result, err := render.Package(t.Context(), source, render.Options{
		Evaluator: &fake{functions: treeFunctions}, Parallel: parallel, WriteStatus: true,
		Observe: func(e render.Event) { fmt.Fprintln(&text, describe(e)) },
	})
	for i := range result.Report.Functions {
		result.Report.Functions[i].Duration = 0
	}
	report, jsonErr := json.MarshalIndent(result.Report, "", " ")
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	fmt.Fprintf(&text, "%v\n%s\n", err, report)
	if err := packages.WriteDocuments(&text, result.Resources); err != nil {
		t.Fatal(err)
	}
	for _, f := range result.Output.Files {
		fmt.Fprintf(&text, "%s:\n%s", f.Path, f.Content)
	}
	for _, c := range result.Output.Changes {
		fmt.Fprintf(&text, "%s:\n%s%s", c.Path, c.Before, c.After)
	}
	return text.String()
}

// Parallel rendering gives the same files, status, events and error as sequential rendering.
func TestParallelIsSequential(t *testing.T) {
	t.Parallel()
	for _, failing := range []bool{false, true} {
		t.Run(fmt.Sprint("failing ", failing), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				files := drawTree(t, failing)
				want := everything(t, files, 1)
				if diff := cmp.Diff(want, everything(t, files, 4)); diff != "" {
					t.Fatalf("(-sequential +parallel):\n%s", diff)
				}
			})
		})
	}
}

// waiting returns an evaluator whose functions wait for other functions to start.
func waiting(do func(ctx context.Context, image string) error) evaluation.Evaluator {
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		return evaluation.Response{ResourceList: req.ResourceList, Report: &evaluationv1.Evaluation{}}, do(ctx, req.Image)
	})
}

func TestPackagesAreRenderedInParallel(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 2)
	meet := sync.OnceFunc(func() { <-begun; <-begun })
	source, err := packages.NewMemory(map[string]string{
		"Kptfile": kpt(""), "a/Kptfile": kpt(mutators("fn")), "b/Kptfile": kpt(mutators("fn")),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = render.Package(t.Context(), source, render.Options{Parallel: 2, Evaluator: waiting(func(context.Context, string) error {
		begun <- struct{}{}
		meet()
		return nil
	})})
	if err != nil {
		t.Fatal(err)
	}
}

// The failure of a package cancels packages after it. Packages before it continue. If one of them fails, the render returns its error.
func TestFailureCancelsLaterPackages(t *testing.T) {
	t.Parallel()
	late, cancelled := make(chan struct{}), make(chan struct{})
	source, err := packages.NewMemory(map[string]string{
		"Kptfile": kpt(""), "a/Kptfile": kpt(mutators("first")), "b/Kptfile": kpt(mutators("second")), "c/Kptfile": kpt(mutators("third")),
	})
	if err != nil {
		t.Fatal(err)
	}
	result, err := render.Package(t.Context(), source, render.Options{Parallel: 3, Evaluator: waiting(func(ctx context.Context, image string) error {
		switch image {
		case "first:latest":
			<-cancelled
			if ctx.Err() != nil {
				t.Error("the first package was cancelled")
			}
			return errors.New("the first fails")
		case "second:latest":
			<-late
			return errors.New("the second fails")
		default:
			close(late)
			<-ctx.Done()
			close(cancelled)
			return ctx.Err()
		}
	})})
	want := "fn.render: pkg /:\n\tpkg.render: pkg /a:\n\tpipeline.run: func eval \"first:latest\" failed: the first fails"
	if err == nil || err.Error() != want || len(result.Report.Functions) != 1 {
		t.Errorf("error = %v, want %s", err, want)
	}
}

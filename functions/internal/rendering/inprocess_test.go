// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package rendering_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/runtime"
)

// pieces are parts of resources that may change when they are printed and parsed.
var pieces = []string{
	"", "data:\n  k: v # line\n  n: \"1\"\n", "data:\n  # above\n  k: |\n    text\n      more\n  l: 'q'\n", "# between\ndata: {a: b, c: [d, e]}\n",
	"spec:\n  list:\n    # first\n    - a\n    - b # b\n  namespace: old\n", "spec:\n  list:\n  - name: x\n    value: >-\n      folded\n      text\n  # foot\n",
	"data:\n  a: &x {k: v}\n  b: *x\n", "data:\n  on: yes\n  empty: \"\"\n  nothing:\n  tilde: ~\n  long: " + strings.Repeat("word ", 40) + "\n", "# the end\n",
	"spec: {image: nginx:1, more: [x:y, nginx:1], none: , tilde: ~}\n",
	"spec:\n  replicas: 3\n  t: 2020-01-01\n  oct: 0o17\n  tab: \"a\\tb\"\n  uni: \"\\u00e9\"\n  multi: \"a\\nb\\n\"\n", "spec:\n  ? complex\n  : value\n  str: !!str 5\n",
}

func drawBuiltin(t *rapid.T) map[string]string {
	functions := []string{
		"{image: set-namespace, configMap: {namespace: shop}}", "{image: set-labels, configMap: {app: shop, n: \"1\"}}",
		"{image: set-annotations, configMap: {who: \"yes\", note: \"a: b\"}}", "{image: set-labels, configMap: {tier: t}, selectors: [{kind: ConfigMap}], exclude: [{name: n1}]}",
		"{image: set-namespace}", "{image: set-labels, configPath: labels.yaml}", "{image: search-replace, configMap: {by-value: old, put-value: new}}",
		"{image: upsert-resource, configPath: labels.yaml}", "{image: remove-local-config-resources}", "{image: apply-setters, configMap: {a: b}}",
		"{image: search-replace, configMap: {by-value-regex: \"[ng].*x:1\", put-value: nginx:2}}",
		"{image: starlark, configMap: {source: 'ctx.resource_list[\"items\"] = []'}}", "{image: remove-local-config-resources, selectors: [{kind: ConfigMap}]}",
	}
	list := rapid.SliceOfN(rapid.SampledFrom(functions), 1, 4).Draw(t, "functions")
	files := map[string]string{
		"Kptfile":     kpt("pipeline:\n  mutators:\n" + steps(list...) + "  validators:\n" + steps(functions[rapid.IntRange(0, 2).Draw(t, "validator")])),
		"labels.yaml": cm("labels") + "data:\n  from: path # c\n",
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "files") {
		for j := range rapid.IntRange(1, 3).Draw(t, "documents") {
			text := rapid.SampledFrom([]string{"", "# head\n", "# head\n\n"}).Draw(t, "head") +
				rapid.SampledFrom([]string{"apiVersion: v1\nkind: ConfigMap\n", "apiVersion: apps/v1 # v\nkind: Deployment\n", "kind: Service\napiVersion: v1\n"}).Draw(t, "type") +
				"metadata:\n  name: n" + strconv.Itoa(j) + rapid.SampledFrom([]string{"\n", " # name\n", "\n  namespace: old\n", "\n  annotations: {a: b}\n", "\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\n", "\n  labels:\n    # l\n    app: old\n"}).Draw(t, "meta")
			text += strings.Join(rapid.SliceOfNDistinct(rapid.SampledFrom(pieces), 0, 2, func(p string) string {
				return strings.SplitN(strings.TrimLeft(p, "# betwn\n"), ":", 2)[0]
			}).Draw(t, "pieces"), "")
			if j > 0 {
				text = "---\n" + text
			}
			files[fmt.Sprintf("f%d.yaml", i)] += text
		}
	}
	return files
}

// Evaluating on nodes gives the same result as evaluating on bytes.
func TestInProcessIsAsOverBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		files := drawBuiltin(t)
		run := func(evaluator evaluation.Evaluator) string {
			source, err := packages.NewMemory(files)
			if err != nil {
				t.Fatal(err)
			}
			result, err := render.Package(t.Context(), source, render.Options{Evaluator: evaluator, ImagePrefix: reference.CatalogPrefix})
			for i := range result.Report.Functions {
				result.Report.Functions[i].Duration = 0
			}
			report, _ := json.MarshalIndent(result.Report, "", " ")
			source.Apply(result.Output.Changes)
			var text strings.Builder
			fmt.Fprintf(&text, "%v\n%s\n", err, report)
			after := source.Files()
			for _, p := range slices.Sorted(maps.Keys(after)) {
				text.WriteString(p + ":\n" + after[p])
			}
			return text.String()
		}
		// evaluation.Func hides that the evaluator is a ListEvaluator.
		want := run(evaluation.Func(builtin().Evaluator.Evaluate))
		if diff := cmp.Diff(want, run(runtime.Multi{builtin().Evaluator})); diff != "" {
			t.Fatalf("files %v\nresult (-bytes +nodes):\n%s", files, diff)
		}
	})
}

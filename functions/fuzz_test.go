// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// fuzzFunction passes arbitrary input to a function. It must not panic, and its output must be a ResourceList.
func fuzzFunction(f *testing.F, name string) {
	tested, ok := Lookup(name)
	if !ok {
		f.Fatalf("unknown function %q", name)
	}
	for _, config := range append([]string{"", "{}", "data: {a: *b}"}, workConfigs[name]) {
		f.Add([]byte(functiontest.List(workItems, config)))
		f.Add([]byte(functiontest.List("- {kind: A}\n- &a {metadata: *a}\n- {metadata: x, spec: []}\n", config)))
		f.Add([]byte(functiontest.List("", config)))
	}
	f.Add([]byte(""))
	f.Add([]byte("{}"))
	f.Add([]byte("kind: ResourceList\nitems: {}\nresults: a\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		out, err := function.Run(ctx, tested, in)
		if err != nil && strings.Contains(err.Error(), "panicked") {
			t.Errorf("Run() panics: %v", err)
		}
		if err == nil && out == nil {
			t.Error("no output and no error")
		}
		if out == nil {
			return
		}
		if _, err := fn.ParseResourceList(out); err != nil {
			t.Errorf("the output is not a ResourceList: %v\n%s", err, out)
		}
	})
}

func FuzzSetNamespace(f *testing.F)         { fuzzFunction(f, "set-namespace") }
func FuzzSetLabels(f *testing.F)            { fuzzFunction(f, "set-labels") }
func FuzzSetAnnotations(f *testing.F)       { fuzzFunction(f, "set-annotations") }
func FuzzApplySetters(f *testing.F)         { fuzzFunction(f, "apply-setters") }
func FuzzApplyReplacements(f *testing.F)    { fuzzFunction(f, "apply-replacements") }
func FuzzStarlark(f *testing.F)             { fuzzFunction(f, "starlark") }
func FuzzEnsureNameSubstring(f *testing.F)  { fuzzFunction(f, "ensure-name-substring") }
func FuzzUpsertResource(f *testing.F)       { fuzzFunction(f, "upsert-resource") }
func FuzzSetProjectID(f *testing.F)         { fuzzFunction(f, "set-project-id") }
func FuzzCreateSetters(f *testing.F)        { fuzzFunction(f, "create-setters") }
func FuzzDeleteAnnotations(f *testing.F)    { fuzzFunction(f, "delete-annotations") }
func FuzzFix(f *testing.F)                  { fuzzFunction(f, "fix") }
func FuzzFormat(f *testing.F)               { fuzzFunction(f, "format") }
func FuzzListSetters(f *testing.F)          { fuzzFunction(f, "list-setters") }
func FuzzSearchReplace(f *testing.F)        { fuzzFunction(f, "search-replace") }
func FuzzSetEnforcementAction(f *testing.F) { fuzzFunction(f, "set-enforcement-action") }
func FuzzSetImage(f *testing.F)             { fuzzFunction(f, "set-image") }
func FuzzSetNamePrefix(f *testing.F)        { fuzzFunction(f, "set-name-prefix") }
func FuzzGenerateKptPkgDocs(f *testing.F)   { fuzzFunction(f, "generate-kpt-pkg-docs") }

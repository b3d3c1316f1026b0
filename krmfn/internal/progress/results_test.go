// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package progress_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/krmfn/internal/progress"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// results returns results, those of each severity with the numbers from 1 as messages.
func results(infos, warnings, errors int) []fnresultv1.ResultItem {
	var all []fnresultv1.ResultItem
	for severity, n := range map[string]int{"info": infos, "warning": warnings, "error": errors} {
		for i := range n {
			all = append(all, item(severity, strconv.Itoa(i+1)))
		}
	}
	return all
}

func show(all []fnresultv1.ResultItem, width int, o progress.Options) string {
	var b bytes.Buffer
	out := terminal.Stream{Writer: &b}
	if width > 0 {
		out.Width = func() int { return width }
	}
	display := progress.New(out, o)
	f := renderstatus.Function{Ran: true, Result: renderstatus.Result{Image: "r.io/f", Results: all}}
	display(&render.FunctionStarted{Function: f})
	display(&render.FunctionFinished{Function: f})
	return b.String()
}

func TestManyResults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		infos, warnings, errors int
		terminal                bool
		options                 progress.Options
		// shown is the expected number of infos, warnings and errors.
		shown [3]int
		more  string
	}{
		"few":                           {infos: 20, shown: [3]int{20, 0, 0}},
		"one more":                      {infos: 21, shown: [3]int{21, 0, 0}},
		"many":                          {infos: 401, shown: [3]int{20, 0, 0}, more: "and 381 more: see them with --verbose or --results-dir DIR"},
		"the worst first":               {infos: 9, warnings: 9, errors: 8, shown: [3]int{3, 9, 8}, more: "and 6 more: "},
		"only errors":                   {infos: 2, warnings: 2, errors: 30, shown: [3]int{0, 0, 20}, more: "and 14 more: "},
		"with a file":                   {warnings: 30, options: progress.Options{ResultsFile: "d/results.yaml"}, shown: [3]int{0, 20, 0}, more: "and 10 more: they are in d/results.yaml"},
		"verbose":                       {infos: 401, options: progress.Options{Verbose: true}, shown: [3]int{401, 0, 0}},
		"on a terminal":                 {infos: 9, warnings: 2, errors: 30, terminal: true, shown: [3]int{0, 0, 20}, more: "and 21 more: "},
		"few infos on a terminal":       {infos: 9, warnings: 2, errors: 3, terminal: true, shown: [3]int{5, 2, 3}, more: "and 4 more: "},
		"one more info on a terminal":   {infos: 6, warnings: 2, terminal: true, shown: [3]int{6, 2, 0}},
		"all, on a terminal by verbose": {infos: 90, errors: 90, terminal: true, options: progress.Options{Verbose: true}, shown: [3]int{90, 0, 90}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			width := 0
			if tc.terminal {
				width = 100
			}
			got := show(results(tc.infos, tc.warnings, tc.errors), width, tc.options)
			for i, severity := range []string{"info", "warning", "error"} {
				n := strings.Count(got, "    ["+severity+"]: ") + strings.Count(got, "      "+severity+" ")
				if n != tc.shown[i] {
					t.Errorf("%d results of severity %s are shown, want %d:\n%s", n, severity, tc.shown[i], got)
				}
			}
			if !strings.Contains(got, tc.more) || (tc.more == "") != !strings.Contains(got, " more: ") {
				t.Errorf("want %q in\n%s", tc.more, got)
			}
		})
	}
}

// A line has kpt's form, and with Verbose the file behind it.
func TestResultsNameTheirFile(t *testing.T) {
	t.Parallel()
	r := item("error", "must be a number\n")
	r.ResourceRef = &yaml.ResourceIdentifier{
		TypeMeta: yaml.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, NameMeta: yaml.NameMeta{Name: "web", Namespace: "shop"},
	}
	r.Field, r.File = &fnresultv1.Field{Path: "spec.replicas"}, &framework.File{Path: "web/deployment\x1b.yaml"}
	const want = "    [error] apps/v1/Deployment/shop/web spec.replicas: must be a number (web/deployment\ufffd.yaml)\n"
	if got := show([]fnresultv1.ResultItem{r}, 0, progress.Options{Verbose: true}); !strings.Contains(got, want) {
		t.Errorf("want\n%s in\n%s", want, got)
	}
}

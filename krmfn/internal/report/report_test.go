// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"

	"github.com/krmfn/krmfn/krmfn/internal/report"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

func functions() []renderstatus.Function {
	return []renderstatus.Function{
		{
			Ran: true, Evaluator: "exec", Implementation: "set-labels v0.2.0 (curated)", Duration: renderstatus.Duration(12345 * time.Microsecond),
			Result: renderstatus.Result{
				Image:   "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2",
				Results: []fnresultv1.ResultItem{{Message: "a"}, {Message: "b", Severity: "info"}},
			},
		},
		{
			Ran: true, Duration: renderstatus.Duration(2 * time.Second),
			Result: renderstatus.Result{Image: "r.io/warns:v1", Results: []fnresultv1.ResultItem{{Severity: "warning"}, {Severity: "odd"}}},
		},
		{
			Ran: true, Evaluator: "pod", Implementation: "checks-pod-1", Digest: "sha256:ab", Error: "exit status 1",
			Result: renderstatus.Result{Image: "r.io/checks:v1", ExitCode: 1, Results: []fnresultv1.ResultItem{{Severity: "error"}, {Severity: "error"}}},
		},
		{Result: renderstatus.Result{Exec: "./never \x1b[2J", ExitCode: 1}, Error: "not found"},
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	report.Summary(terminal.Stream{Writer: &b}, functions())
	const want = `FUNCTION          RAN BY                             TIME   RESULTS
set-labels:v0.2   exec set-labels v0.2.0 (curated)   12ms   2 info
r.io/warns:v1     -                                  2s     1 warning, 1 info
r.io/checks:v1    pod checks-pod-1                   0s     failed: 2 errors
./never �[2J      -                                  -      failed
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Functions of several packages are told apart by them.
func TestSummaryOfPackages(t *testing.T) {
	t.Parallel()
	list := functions()[:2]
	list[0].Package, list[1].Package = "net/dns", "."
	var b bytes.Buffer
	report.Summary(terminal.Stream{Writer: &b}, list)
	const want = `PACKAGE   FUNCTION          RAN BY                             TIME   RESULTS
net/dns   set-labels:v0.2   exec set-labels v0.2.0 (curated)   12ms   2 info
.         r.io/warns:v1     -                                  2s     1 warning, 1 info
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The longest texts give way, the time and the results never. Where there is no terminal, nothing does.
func TestSummaryFitsTheTerminal(t *testing.T) {
	t.Parallel()
	list := functions()[:3]
	list[1].Image = "registry.example.com:5000/networking/team/checks/warns:v1"
	list[2].Image = ""
	list[2].Exec, list[2].Implementation = "./checks --strict "+strings.Repeat("--file x.yaml ", 10)+"last", "checks-pod-"+strings.Repeat("1", 20)
	list[2].Package = "net/a-long-directory/dns"
	for name, tc := range map[string]struct {
		columns int
		several bool
		want    string
	}{
		"wide": {columns: 80, want: `FUNCTION                    RAN BY                      TIME   RESULTS
set-labels:v0.2             exec set-labels v0.2.0 (…   12ms   2 info
…ing/team/checks/warns:v1   -                           2s     1 warning, 1 info
./checks --s… x.yaml last   pod checks-pod-111111111…   0s     failed: 2 errors
`},
		"narrow": {columns: 50, want: `FUNCTION     RAN BY       TIME   RESULTS
set-l…v0.2   exec set-…   12ms   2 info
…/warns:v1   -            2s     1 warning, 1 info
./che…last   pod check…   0s     failed: 2 errors
`},
		"too narrow": {columns: 20, want: `FUNCTION   RAN BY   TIME   RESULTS
set-…0.2   exec …   12ms   2 info
warns:v1   -        2s     1 warning, 1 info
./ch…ast   pod c…   0s     failed: 2 errors
`},
		"packages": {columns: 80, several: true, want: `PACKAGE           FUNCTION           RAN BY             TIME   RESULTS
                  set-labels:v0.2    exec set-labels…   12ms   2 info
                  …checks/warns:v1   -                  2s     1 warning, 1 info
net/a-l…ory/dns   ./checks…ml last   pod checks-pod-…   0s     failed: 2 errors
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := slices.Clone(list)
			if !tc.several {
				list[2].Package = ""
			}
			var b bytes.Buffer
			report.Summary(terminal.Stream{Writer: &b, Width: func() int { return tc.columns }}, list)
			if diff := cmp.Diff(tc.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	var b bytes.Buffer
	if report.Summary(terminal.Stream{Writer: &b}, list); !strings.Contains(b.String(), list[2].Exec) || strings.Contains(b.String(), "…") {
		t.Errorf("where there is no terminal, got\n%s", b.String())
	}
}

func TestSummaryInColour(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	out, err := terminal.Stream{Writer: &b}.Coloured(terminal.Always, nil)
	if err != nil {
		t.Fatal(err)
	}
	report.Summary(out, functions())
	for _, want := range []string{
		"   2 info\n", out.Style.Yellow("1 warning, 1 info"), out.Style.Red("failed: 2 errors"), out.Style.Dim("FUNCTION") + "          " + out.Style.Dim("RAN BY"),
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	var none bytes.Buffer
	if report.Summary(terminal.Stream{Writer: &none}, nil); none.Len() > 0 {
		t.Errorf("got %q of no functions", none.String())
	}
}

var changes = []packages.Change{
	{Path: "a.yaml", After: []byte("a: b\n")},
	{Path: "b.yaml", Before: []byte("a: b\n"), After: []byte("a: <c>\n")},
	{Path: "c.yaml", Before: []byte("a: b\n")},
	{Path: "d.yaml", Before: []byte("a: b\n"), After: []byte("a: c\n")},
}

func TestChanges(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]int{
		"no files changed": 0, "1 file changed: 1 added": 1, "4 files changed: 2 modified, 1 added, 1 deleted": 4,
	} {
		if got := report.Changes(changes[:n]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDocument(t *testing.T) {
	t.Parallel()
	doc := report.NewDocument(renderstatus.NewReport(functions(), errors.New("failed")), changes, true)
	var b bytes.Buffer
	if err := report.WriteJSON(&b, doc); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "<c>") {
		t.Error("text is escaped as if for HTML")
	}
	var back struct {
		RenderStatus struct {
			Result struct{ Items []any }
			Error  string
		}
		Functions    []map[string]any
		ChangedFiles []report.ChangedFile
		Written      *bool
	}
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if back.RenderStatus.Error != "failed" || len(back.RenderStatus.Result.Items) != len(back.Functions) || back.Written == nil || *back.Written {
		t.Errorf("got %+v", back)
	}
	for key, want := range map[string]string{"evaluator": "pod", "implementation": "checks-pod-1", "digest": "sha256:ab"} {
		if got := back.Functions[2][key]; got != want {
			t.Errorf("%s of the third function is %v, want %s", key, got, want)
		}
	}
	if got := back.Functions[0]["duration"]; got != "12.345ms" {
		t.Errorf("the duration of the first function is %v", got)
	}
	kinds := make([]string, 0, len(back.ChangedFiles))
	for _, f := range back.ChangedFiles {
		kinds = append(kinds, f.Path+" "+f.Change)
		if f.Diff == "" {
			t.Errorf("%s has no diff", f.Path)
		}
	}
	if diff := cmp.Diff([]string{"a.yaml added", "b.yaml modified", "c.yaml deleted", "d.yaml modified"}, kinds); diff != "" {
		t.Errorf("changed files (-want +got):\n%s", diff)
	}
}

// Lists are never null, so that programs need not look.
func TestEmptyDocument(t *testing.T) {
	t.Parallel()
	doc := report.NewDocument(renderstatus.NewUnreached(errors.New("no runner")), nil, false)
	got, err := json.Marshal(doc)
	want := `{"renderStatus":{"error":"no runner"},"functions":[],"changedFiles":[],"written":false}`
	if err != nil || string(got) != want {
		t.Errorf("got %s and error %v, want %s", got, err, want)
	}
}

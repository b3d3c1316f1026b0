// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package progress_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"
	"go.uber.org/goleak"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/krmfn/internal/progress"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func item(severity, message string) fnresultv1.ResultItem {
	return fnresultv1.ResultItem{Severity: framework.Severity(severity), Message: message}
}

// step is what one function of the example does.
type step struct {
	function renderstatus.Function
	took     time.Duration
	selected bool
	err      error
}

func steps() []step {
	about := item("error", "expected integer,\nbut got string\n")
	about.ResourceRef = &yaml.ResourceIdentifier{
		TypeMeta: yaml.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, NameMeta: yaml.NameMeta{Name: "web", Namespace: "shop"},
	}
	about.Field = &fnresultv1.Field{Path: "spec.replicas"}
	file := item("", `set field value to "3"`)
	file.File, file.Field = &framework.File{Path: "web.yaml"}, &fnresultv1.Field{Path: "spec.replicas"}
	many := make([]fnresultv1.ResultItem, 0, 9)
	for range 9 {
		many = append(many, file)
	}
	return []step{
		{
			function: renderstatus.Function{Ran: true, Result: renderstatus.Result{
				Image:   "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2",
				Results: []fnresultv1.ResultItem{item("info", "set 4 labels in total"), item("warning", "careful \x1b[2J")},
				Stderr:  "a word\nof warning\n",
			}},
			took: 250 * time.Millisecond,
		},
		{
			function: renderstatus.Function{Ran: true, Result: renderstatus.Result{Image: "r.io/apply-setters@sha256:ab", Results: many}},
			took:     12345678 * time.Nanosecond, selected: true,
		},
		{
			function: renderstatus.Function{Ran: true, Result: renderstatus.Result{
				Image:   "gcr.io/kpt-fn/kubeconform:v0.1",
				Results: []fnresultv1.ResultItem{about}, ExitCode: 1, Stderr: "failed to evaluate function",
			}},
			took: 1150 * time.Millisecond, err: errors.New("failed"),
		},
	}
}

// play plays a render whose functions take as long as they say.
func play(display progress.Display) {
	display(&render.Started{Packages: []render.PlannedPackage{
		{Package: "db/x", Name: "shop/db/x", Depth: 2},
		{Package: "db", Name: "shop/db", Depth: 1, Functions: 1},
		{Package: "db-2", Name: "shop/db-2", Depth: 1, Functions: 1},
		{Package: ".", Name: "shop", Functions: 3},
	}})
	display(&render.PackageStarted{PlannedPackage: render.PlannedPackage{Package: "db/x", Name: "shop/db/x", Depth: 2}})
	display(&render.PackageFinished{Package: "db/x"})
	display(&render.PackageStarted{PlannedPackage: render.PlannedPackage{Package: "db", Name: "shop/db", Depth: 1, Functions: 1}, Resources: 1})
	exec := renderstatus.Function{Ran: true, Result: renderstatus.Result{Exec: "./fn a", Stderr: lines(22)}}
	display(&render.FunctionStarted{Function: exec})
	display(&render.FunctionFinished{Function: exec})
	display(&render.PackageFinished{Package: "db"})
	display(&render.PackageStarted{PlannedPackage: render.PlannedPackage{Package: ".", Name: "shop", Functions: 3}, Resources: 1})
	for _, s := range steps() {
		started := renderstatus.Function{Result: renderstatus.Result{Image: s.function.Image}}
		display(&render.FunctionStarted{Function: started, Resources: 3, Selected: s.selected})
		time.Sleep(s.took)
		s.function.Duration = renderstatus.Duration(s.took)
		display(&render.FunctionFinished{Function: s.function, Err: s.err})
	}
	missing := renderstatus.Function{Ran: true, Result: renderstatus.Result{Exec: "/no/such", ExitCode: -1}}
	display(&render.FunctionStarted{Function: missing})
	display(&render.FunctionFinished{Function: missing, Err: errors.New("failed"), Report: &evaluationv1.Evaluation{
		Failure: &evaluationv1.Failure{Reason: evaluationv1.FailureReason_FAILURE_REASON_START},
	}})
	display(&render.PackageFinished{Package: ".", Err: errors.New("failed")})
	display(&render.PackageStarted{PlannedPackage: render.PlannedPackage{Package: ".", Name: "/", Functions: 1}})
	rejected := renderstatus.Function{Ran: true, Rejected: true, Result: renderstatus.Result{Image: "r.io/x", ExitCode: 1}}
	display(&render.FunctionStarted{Function: rejected})
	display(&render.FunctionFinished{Function: rejected, Err: errors.New("no KRM")})
	// A function that could not be prepared has not been announced.
	display(&render.FunctionFinished{Function: renderstatus.Function{Result: renderstatus.Result{Image: "r.io/x"}}, Err: errors.New("no tag")})
}

// lines returns the numbers from 1, each in a line.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i+1)
	}
	return b.String()
}

func TestDisplays(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		terminal bool
		color    string
		options  progress.Options
	}{
		"plain.txt":         {color: terminal.Auto},
		"plain-colour.txt":  {color: terminal.Always},
		"plain-verbose.txt": {color: terminal.Auto, options: progress.Options{Verbose: true}},
		"live-truncate.txt": {terminal: true, color: terminal.Never, options: progress.Options{Truncate: true}},
		"quiet.txt":         {color: terminal.Auto, options: progress.Options{Quiet: true}},
		"live.txt":          {terminal: true, color: terminal.Auto},
		"live-mono.txt":     {terminal: true, color: terminal.Never},
		"live-verbose.txt":  {terminal: true, color: terminal.Never, options: progress.Options{Verbose: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var b bytes.Buffer
				out := terminal.Stream{Writer: &b}
				if tc.terminal {
					out.Width = func() int { return 44 }
				}
				out, err := out.Coloured(tc.color, func(string) string { return "" })
				if err != nil {
					t.Fatal(err)
				}
				play(progress.New(out, tc.options))
				golden(t, name, b.Bytes())
			})
		})
	}
}

// What is shown as exit code is what the status has, and only where it says why the function failed.
func TestExitCode(t *testing.T) {
	t.Parallel()
	for number, reason := range evaluationv1.FailureReason_name {
		reported := &evaluationv1.Evaluation{ExitCode: -1, Failure: &evaluationv1.Failure{Reason: evaluationv1.FailureReason(number), Message: "m"}}
		var f renderstatus.Function
		f.SetReport(reported)
		var b bytes.Buffer
		display := progress.New(terminal.Stream{Writer: &b}, progress.Options{})
		display(&render.FunctionStarted{Function: f})
		display(&render.FunctionFinished{Function: f, Err: errors.New("failed"), Report: reported})
		if shown := strings.Contains(b.String(), "Exit code: -1\n"); shown != (f.ExitCode == -1) || strings.Contains(b.String(), "Exit code: 1\n") {
			t.Errorf("%s: the status has exit code %d, and the console\n%s", reason, f.ExitCode, b.String())
		}
	}
}

// However narrow the terminal and long the title, the line of a function that runs has its clock.
func TestNarrowTerminals(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{12, 30, 40, 80} {
		t.Run(strconv.Itoa(columns), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var b bytes.Buffer
				display := progress.New(terminal.Stream{Writer: &b, Width: func() int { return columns }}, progress.Options{})
				display(&render.Started{Packages: []render.PlannedPackage{{Package: ".", Name: "shop", Functions: 3}}})
				for _, result := range []renderstatus.Result{
					{Exec: "./fn --strict " + strings.Repeat("--file x.yaml ", 10) + "last"},
					{Image: "registry.example.com:5000/networking/team/checks/validate:v1.2"},
					{Image: "r.io/team/starlark-of-the-team-of-networking:v1@sha256:" + strings.Repeat("ab", 32)},
				} {
					f := renderstatus.Function{Ran: true, Result: result}
					display(&render.FunctionStarted{Function: f})
					time.Sleep(150 * time.Millisecond)
					display(&render.FunctionFinished{Function: f})
				}
				golden(t, fmt.Sprintf("live-%d.txt", columns), b.Bytes())
			})
		})
	}
}

func TestShortImage(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]string{
		"gcr.io/kpt-fn/a:v1":                           "a:v1",
		"ghcr.io/kptdev/krm-functions-catalog/a@sha:b": "a@sha:b",
		"ghcr.io/kptdev/krm-functions-catalog-2/a":     "ghcr.io/kptdev/krm-functions-catalog-2/a",
	} {
		if got := progress.ShortImage(ref); got != want {
			t.Errorf("ShortImage(%q) = %q, want %q", ref, got, want)
		}
	}
}

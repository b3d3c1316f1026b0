// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"text/template"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/measure"
	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
)

// checkout returns the file system of this checkout.
func checkout(t *testing.T) fs.FS {
	t.Helper()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	return os.DirFS(root)
}

func TestPagesAreGeneratedFromTheReports(t *testing.T) {
	t.Parallel()
	checkout := checkout(t)
	files, err := generate(checkout)
	if err != nil {
		t.Fatal(err)
	}
	var pages strings.Builder
	for name, want := range files {
		got, err := fs.ReadFile(checkout, name)
		if err != nil {
			t.Fatal(err)
		}
		pages.Write(got)
		if string(got) != string(want) {
			t.Errorf("%s differs from what the reports give: run make performance (-want +got):\n%s", name, cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")))
		}
	}
	for _, found := range regexp.MustCompile(`{{- define "([a-z-]+)" -}}`).FindAllStringSubmatch(blocks, -1) {
		if name := found[1]; name != "readme" && name != "comparison" && !strings.Contains(pages.String(), "<!-- performance: begin "+name+" -->") {
			t.Errorf("no page has the block %s", name)
		}
	}
}

// measurement matches numbers with the units of measurements. Settings use binary units and durations of Go.
var measurement = regexp.MustCompile(`\d(,\d+)? ?(ms|kB|MB|calls/s|calls a second)\b|\d\.\d+ s\b`)

// settings are the numbers outside blocks that look like measurements and are none: settings, and the output of commands in examples.
var settings = map[string][]string{
	"docs/function-pods.md":    {"from 20 ms to one second"},
	"docs/write-a-function.md": {"in 13ms", "for more than 100 ms", "up to 2 ms late"},
}

func TestPagesHaveNoOtherMeasurements(t *testing.T) {
	t.Parallel()
	checkout := checkout(t)
	pages, err := fs.Glob(checkout, "docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	// make scale writes docs/scale.md.
	pages = slices.DeleteFunc(append(pages, "README.md", "charts/krmfn/README.md"), func(name string) bool { return name == "docs/scale.md" })
	for _, name := range pages {
		text, err := fs.ReadFile(checkout, name)
		if err != nil {
			t.Fatal(err)
		}
		rest := block.ReplaceAllString(string(text), "")
		for _, setting := range settings[name] {
			if !strings.Contains(rest, setting) {
				t.Errorf("%s lacks %q, which is in the list of settings", name, setting)
			}
			rest = strings.ReplaceAll(rest, setting, "")
		}
		for line := range strings.Lines(rest) {
			if found := measurement.FindString(line); found != "" {
				t.Errorf("%s: %q is outside the blocks that make performance writes: %s", name, found, line)
			}
		}
	}
}

func TestMeasurementsAreRecognized(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"takes 12.8 ms", "13 calls a second", "17.3 MB", "8.39 kB", "1,199 calls/s", "about 0.7 s"} {
		if !measurement.MatchString(text) {
			t.Errorf("%q is no measurement, want it to be one", text)
		}
	}
	for _, text := range []string{"6 MiB", "30s", "after 10 seconds"} {
		if measurement.MatchString(text) {
			t.Errorf("%q is a measurement, want a setting", text)
		}
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	blocks := template.Must(template.New("").Parse(`{{define "readme"}}new{{"\n"}}{{end}}{{define "a-b"}}other{{"\n"}}{{end}}`))
	const end = "<!-- performance: end -->\n"
	page := func(one, two string) string {
		return "a\n<!-- performance: begin -->\n" + one + end + "b\n<!-- performance: begin a-b -->\n" + two + end + "c\n"
	}
	got, err := fill([]byte(page("old\n", "")), blocks)
	if want := page("new\n", "other\n"); err != nil || string(got) != want {
		t.Errorf("fill() = %q, %v, want %q", got, err, want)
	}
	if got, err := fill([]byte("no block\n"), blocks); got != nil || err != nil {
		t.Errorf("fill() of a page without blocks = %q, %v, want nil", got, err)
	}
	for _, wrong := range []string{"<!-- performance: begin -->\n", end, "<!-- performance: begin none -->\n" + end, "x <!-- performance: begin -->" + end} {
		if got, err := fill([]byte(wrong), blocks); err == nil {
			t.Errorf("fill(%q) = %q, want an error", wrong, got)
		}
	}
}

func TestReportsAreFromOneCommit(t *testing.T) {
	t.Parallel()
	const dir = "e2e/bench/reports/"
	files := fstest.MapFS{
		dir + "local.json":   {Data: []byte(`{"Facts": [{"Name": "commit", "Value": "a"}]}`)},
		dir + "cluster.json": {Data: []byte(`{"Facts": [{"Name": "commit", "Value": "b"}]}`)},
		dir + "porch.json":   {Data: []byte(`{}`)},
	}
	if _, err := read(files); err == nil || !strings.Contains(err.Error(), "of the commits a and b") {
		t.Errorf("read() error = %v, want one that names both commits", err)
	}
}

// example returns reports with a row for each goal, except for kpt.
func example() measured {
	var m measured
	for _, g := range goals {
		m.Cluster.Add(report.Row{Name: g.row, Unit: "ms", Value: 2, Rounds: []float64{1, 2, 3}})
	}
	for _, name := range []string{
		measure.BySize(executable, bare, 10), measure.AtRate(executable, bare, 50), measure.AtRate(pod, bare, 50), measure.AtRate(pod, bare, 99),
		measure.ByCallers(pod, bare, 8), measure.BySize(pod, bare, 5000),
	} {
		m.Local.Add(report.Row{Name: name, Unit: "ms", Value: 4, Rounds: []float64{5, 4, 4}})
	}
	return m
}

func TestGoals(t *testing.T) {
	t.Parallel()
	got, err := example().goalTable()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| pod, standby process, 10 calls/s: p50 | 2 ms (1-3) | 4 ms | 0.500 (0.200-0.750) | ≤ 0.400 | no |",
		"| pod, standby process, 10 calls/s: p99 | 2 ms (1-3) | 4 ms | 0.500 (0.200-0.750) | ≤ 1 | yes |",
		"| pod, worker, 8 callers: throughput | 2 ms (1-3) | 4 ms | 0.500 (0.200-0.750) | ≥ 9 | no |",
		"| wrapper server, executable | 2 ms (1-3) | - | - | ≤ 16 ms | yes |",
		"| render, 10,000 ConfigMaps, krmfn: time | 2 ms (1-3) | - | - | ≤ 0.022 | not measured |",
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("the table of goals lacks %q:\n%s", want, got)
		}
	}
}

func TestMissingRowIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := example().cell("nothing"); err == nil || !strings.Contains(err.Error(), `"nothing"`) {
		t.Errorf("cell() error = %v, want one that names the row", err)
	}
}

func TestCPUIsDividedByThroughput(t *testing.T) {
	t.Parallel()
	m := measured{Local: report.Report{Facts: []report.Fact{{Name: "processors", Value: "2, fast ones"}}}}
	m.Cluster.Add(report.Row{Name: measure.ByCallers(pod, function.Worker.Name, 8), Value: 4000})
	if got, err := m.cpu(pod, function.Worker.Name); err != nil || got != "0.500 ms" {
		t.Errorf("cpu() = %q, %v, want 0.500 ms", got, err)
	}
}

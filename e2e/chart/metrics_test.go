// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

// metric is a metric that a program registers.
type metric struct{ name, kind string }

// series returns the names under which Prometheus stores the metric.
func (m metric) series() []string {
	switch m.kind {
	case "Int64Counter", "Int64ObservableCounter", "Float64Counter":
		return []string{m.name + "_total"}
	case "Float64Histogram": // All histograms have the unit seconds.
		return []string{m.name + "_seconds_bucket", m.name + "_seconds_sum", m.name + "_seconds_count"}
	}
	return []string{m.name}
}

// registration matches the registration of a metric, by an OpenTelemetry instrument or by the Prometheus client library.
var registration = regexp.MustCompile(`(?:\.\s*(\w+)\(|Name: +)"(krm_\w+)"`)

// registeredMetrics returns the metrics of all programs. It reads the source code, because a running program exposes only metrics with a
// recorded value.
func registeredMetrics(t *testing.T) []metric {
	t.Helper()
	var all []metric
	eachSource(t, func(text string) {
		for _, found := range registration.FindAllStringSubmatch(text, -1) {
			all = append(all, metric{name: found[2], kind: found[1]})
		}
	})
	if len(all) == 0 {
		t.Fatal("found no metrics in the source code")
	}
	return all
}

// eachSource calls look with the text of each source file of the programs that have metrics, except tests.
func eachSource(t *testing.T, look func(text string)) {
	t.Helper()
	for _, module := range []string{"services", "internal", "function-runner", "wrapper-server", "pod-janitor", "image-warmer", "task-handler"} {
		err := filepath.WalkDir(inCheckout(t, module), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err == nil {
				look(string(text))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// evaluationCodes returns the possible values of the label code of evaluations: the failure reasons, and the other codes in package
// middleware.
func evaluationCodes(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(inCheckout(t, "internal", "middleware", "code.go"))
	if err != nil {
		t.Fatal(err)
	}
	codes := []string{"ok"}
	for _, found := range regexp.MustCompile(`return "(\w+)"`).FindAllStringSubmatch(string(text), -1) {
		codes = append(codes, found[1])
	}
	for _, name := range evaluationv1.FailureReason_name {
		codes = append(codes, strings.ToLower(strings.TrimPrefix(name, "FAILURE_REASON_")))
	}
	return codes
}

// configuration matches calls that record a reload of a configuration.
var configuration = regexp.MustCompile(`(?:\.reload(?:ed)?|\.Reloads\.Record)\("(\w+)"`)

// The table of configurations in the docs lists exactly the configurations that programs reload.
func TestConfigurationsAreDocumented(t *testing.T) {
	t.Parallel()
	measured := map[string]bool{}
	eachSource(t, func(text string) {
		for _, found := range configuration.FindAllStringSubmatch(text, -1) {
			measured[found[1]] = true
		}
	})
	page, err := os.ReadFile(inCheckout(t, "docs", "operate.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| config | source | chart value |\n| --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	described := map[string]bool{}
	for row := range strings.Lines(table) {
		described[strings.Trim(strings.Split(row, "|")[1], " `")] = true
	}
	if diff := cmp.Diff(measured, described); diff != "" {
		t.Errorf("configurations in docs/operate.md (-measured +described):\n%s", diff)
	}
}

// A maximum has the name of the limited metric with the suffix _max. A point in time has the suffix _timestamp_seconds.
func TestMetricNamesAreConventional(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, m := range registeredMetrics(t) {
		names[m.name] = true
	}
	for name := range names {
		limited, isMaximum := strings.CutSuffix(name, "_max")
		if strings.Contains(name, "_max_") || isMaximum && !names[limited] {
			t.Errorf("%s is no maximum by its name, want the name of a metric and _max", name)
		}
		if strings.Contains(name, "expiry") && !strings.HasSuffix(name, "_timestamp_seconds") {
			t.Errorf("%s is a point in time, want the suffix _timestamp_seconds", name)
		}
	}
}

func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	var pages strings.Builder
	for _, name := range []string{"operate.md", "function-pods.md", "images.md", "pod-janitor.md", "image-warmer.md"} {
		text, err := os.ReadFile(inCheckout(t, "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		pages.Write(text)
	}
	for _, m := range registeredMetrics(t) {
		name := strings.TrimSuffix(m.series()[0], "_bucket")
		if !strings.Contains(pages.String(), "`"+name+"`") {
			t.Errorf("no page in docs documents the metric %s", name)
		}
	}
}

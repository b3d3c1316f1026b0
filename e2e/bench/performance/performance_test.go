// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/e2e/bench/report"
)

func reports() measured {
	local, cluster := &report.Report{Title: "local"}, &report.Report{Title: "pods"}
	local.Add(
		report.Row{What: "exec, fresh process, 10 resources: p50", Measured: 8, Beside: 10, Unit: "ms"},
		report.Row{What: "exec, worker, 10 resources: p50", Measured: 1, Beside: 10, Unit: "ms", Goal: &report.Goal{Of: report.Ratio, Bound: .2}},
	)
	cluster.Add(report.Row{Section: "memory", What: "wrapper server", Measured: 18, Unit: "MB", Goal: &report.Goal{Bound: 20}})
	return measured{local, cluster}
}

func TestTemplatesAreFilledFromRows(t *testing.T) {
	t.Parallel()
	text, err := reports().fill("{{ratio \"exec, worker, 10 resources: p50\"}} {{measured \"wrapper server\"}} {{beside \"exec, worker, 10 resources: p50\"}}\n" +
		"{{goals}}{{section .Cluster \"memory\"}}{{bySize .Local \"exec\"}}")
	if err != nil {
		t.Fatal(err)
	}
	const header = "| what | measured | beside | ratio | rounds | beyond | goal | met |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n"
	const wrapper = "| wrapper server | 18 MB | - | - | - | - | ≤ 20 MB | yes |\n"
	want := "0.10 18 MB 10 ms\n" +
		header + "| exec, worker, 10 resources: p50 | 1 ms | 10 ms | 0.10 | - | - | ratio ≤ 0.20 | yes |\n" + wrapper + header + wrapper +
		"| resources | 10 | 100 | 1000 | 5000 |\n| --- | --- | --- | --- | --- |\n| bare process | 10 ms | - | - | - |\n| fresh process | 8 ms, × 0.80 | - | - | - |\n" +
		"| standby process | - | - | - | - |\n| worker | 1 ms, × 0.10 | - | - | - |\n| kept answer | - | - | - | - |\n"
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestWhatNobodyMeasuredIsAnError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{{ratio "nothing"}}`, `{{section .Local "nothing"}}`} {
		if _, err := reports().fill(text); err == nil || !strings.Contains(err.Error(), `"nothing"`) {
			t.Errorf("fill(%s) error = %v, want one that names \"nothing\"", text, err)
		}
	}
}

func TestPartIsPutBetweenItsLines(t *testing.T) {
	t.Parallel()
	got, err := between([]byte("a\n"+begin+"old\n"+end+"b\n"), []byte("new\n"))
	if want := "a\n" + begin + "new\n" + end + "b\n"; err != nil || string(got) != want {
		t.Errorf("between() = %q, %v, want %q", got, err, want)
	}
	if _, err := between([]byte("a\n"+end+begin), nil); err == nil {
		t.Error("between() with the lines in the wrong order succeeded, want an error")
	}
}

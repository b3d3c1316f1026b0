// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/e2e/bench/report"
)

func TestWriteText(t *testing.T) {
	t.Parallel()
	r := report.Report{Title: "What it is", Facts: []report.Fact{{Name: "cores", Value: "2"}, {Name: "kernel", Value: "6.1"}}}
	r.Add(
		report.Row{Section: "warm", What: "p50", Measured: 4.5, Beside: 3, Unit: "ms", Goal: &report.Goal{Of: report.Beyond, Bound: 1}, Lost: 7},
		report.Row{Section: "warm", What: "p99", Measured: 5, Beside: 7, Unit: "ms", Goal: &report.Goal{Of: report.Beyond, Bound: 5}},
		report.Row{Section: "warm", What: "rounds", Measured: 5, Beside: 7, Unit: "ms", Ratios: []float64{.9, .05, .4}, Goal: &report.Goal{Of: report.Ratio, Bound: .5}},
		report.Row{Section: "more", What: "share", Measured: 170, Beside: 200, Unit: "/s", Goal: &report.Goal{Of: report.Ratio, AtLeast: true, Bound: .85}},
		report.Row{Section: "more", What: "cold", Measured: .904, Unit: "s", Goal: &report.Goal{Bound: .9}},
		report.Row{Section: "more", What: "less", Measured: 2000, Beside: 20, Unit: "MB"},
	)
	r.Note("two")
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	want := `
What it is

cores   2
kernel  6.1

WARM    measured  beside  ratio  rounds      beyond   goal           met
p50     4.50 ms   3 ms    1.50   -           1.50 ms  beyond ≤ 1 ms  no
p99     5 ms      7 ms    0.71   -           -2 ms    beyond ≤ 5 ms  yes
rounds  5 ms      7 ms    0.40   0.050-0.90  -        ratio ≤ 0.50   yes

MORE   measured  beside  ratio  rounds  beyond  goal          met
share  170 /s    200 /s  0.85   -       -       ratio ≥ 0.85  yes
cold   0.90 s    -       -      -       -       ≤ 0.90 s      no
less   2000 MB   20 MB   100.0  -       -       -             -

3 of 5 goals met.
beside: a bare process of the same executable on the same input, in turns with it, unless something else is said; ratio: the median of the rounds' ratios; rounds: the least and the greatest; beyond: the difference.
- p50: 7 calls failed or were not made, and are not in the numbers.
- two
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestReportIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "bench")
	r := report.Report{Title: "What it is", Facts: []report.Fact{{Name: "cores", Value: "2"}}, Notes: []string{"one"}}
	r.Add(report.Row{Section: "warm", What: "p50", Measured: 4.5, Beside: 3, Unit: "ms", Ratios: []float64{1, 2}, Goal: &report.Goal{Of: report.Beyond, Bound: 1}})
	picture := func(w io.Writer) error { _, err := w.Write([]byte("a line")); return err }
	if err := r.Write(io.Discard, dir, report.Pictures{"a.svg": picture}); err != nil {
		t.Fatal(err)
	}
	got, err := report.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&r, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a.svg")); err != nil || string(text) != "a line" {
		t.Errorf("picture = %q, %v, want \"a line\"", text, err)
	}
}

func TestMachineIsNotNamed(t *testing.T) {
	t.Parallel()
	facts, err := report.Machine()
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, fact := range facts {
		if fact.Value == "" || strings.Contains(fact.Value, host) {
			t.Errorf("fact %q = %q, want a value without the host name", fact.Name, fact.Value)
		}
	}
}

// histogram returns a histogram of the given number of calls with latencies of 1 ms, 2 ms, and so on.
func histogram(calls int64) *hdrhistogram.Histogram {
	h := hdrhistogram.New(1, time.Minute.Microseconds(), 3)
	for i := range calls {
		_ = h.RecordValue((i + 1) * 1000)
	}
	return h
}

// words returns the text in an SVG document. It fails the test if the document is not well-formed.
func words(t *testing.T, svg []byte) string {
	t.Helper()
	var all []string
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return strings.Join(all, "|")
		}
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := token.(xml.CharData); ok && len(bytes.TrimSpace(data)) > 0 {
			all = append(all, string(bytes.TrimSpace(data)))
		}
	}
}

func TestWriteLatencies(t *testing.T) {
	t.Parallel()
	var svg bytes.Buffer
	err := report.WriteLatencies(&svg, "Latencies", []report.Latencies{
		{Name: "bare", Microseconds: histogram(100), Limit: true}, {Name: "warm", Microseconds: histogram(200)},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := words(t, svg.Bytes())
	for _, want := range []string{"Latencies", "Percentile", "(ms)", "bare", "warm", "50 %", "99 %", "99.5 %"} {
		if !strings.Contains(got, want) {
			t.Errorf("text of the plot lacks %q: %s", want, got)
		}
	}
	if strings.Contains(got, "99.9 %") {
		t.Errorf("text of the plot contains 99.9 %%, which 200 calls cannot show: %s", got)
	}
}

func TestWriteThroughputs(t *testing.T) {
	t.Parallel()
	var svg bytes.Buffer
	err := report.WriteThroughputs(&svg, "Throughput", []report.Throughputs{
		{Name: "bare", Callers: []int{1, 4, 16}, Rates: []float64{50, 90, 95}, Limit: true}, {Name: "warm", Callers: []int{1, 4, 16}, Rates: []float64{80, 100, 99}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := words(t, svg.Bytes())
	for _, want := range []string{"Throughput", "Callers", "bare", "warm", "4", "16", "100"} {
		if !strings.Contains(got, want) {
			t.Errorf("text of the plot lacks %q: %s", want, got)
		}
	}
}

func TestWriteStarts(t *testing.T) {
	t.Parallel()
	var svg bytes.Buffer
	err := report.WriteStarts(&svg, "Starts", []report.Starts{
		{Name: "pod", Times: []time.Duration{900 * time.Millisecond, 700 * time.Millisecond, 650 * time.Millisecond}, Limit: true},
		{Name: "call", Times: []time.Duration{1234 * time.Millisecond}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := words(t, svg.Bytes())
	for _, want := range []string{"Starts", "(s)", "pod", "0.70 s", "call", "1.23 s", "0.4"} {
		if !strings.Contains(got, want) {
			t.Errorf("text of the plot lacks %q: %s", want, got)
		}
	}
}

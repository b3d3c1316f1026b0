// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/e2e/bench/report"
)

func TestWriteText(t *testing.T) {
	t.Parallel()
	r := report.Report{
		Title: "What it is",
		Facts: []report.Fact{{Name: "cores", Value: "2"}, {Name: "kernel", Value: "6.1"}},
		Rows: []report.Row{
			{What: "p50", Measured: 4.5, Limit: 3, Unit: "ms", Aim: &report.Aim{Of: report.Beyond, Bound: 1}},
			{What: "p99", Measured: 5, Limit: 7, Unit: "ms", Aim: &report.Aim{Of: report.Beyond, Bound: 5}},
			{What: "share", Measured: 170, Limit: 200, Unit: "/s", Aim: &report.Aim{Of: report.Ratio, AtLeast: true, Bound: .85}},
			{What: "cold", Measured: .904, Unit: "s", Aim: &report.Aim{Bound: .9}},
			{What: "less", Measured: 12.34, Limit: 20, Unit: "MB"},
		},
		Notes: []string{"one", "two"},
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	want := `What it is

cores   2
kernel  6.1

WHAT   MEASURED  LIMIT   RATIO  BEYOND   AIM            REACHED
p50    4.50 ms   3 ms    1.50   1.50 ms  beyond ≤ 1 ms  no
p99    5 ms      7 ms    0.71   -        beyond ≤ 5 ms  unclear
share  170 /s    200 /s  0.85   -        ratio ≥ 0.85   yes
cold   0.90 s    -       -      -        ≤ 0.90 s       no
less   12.3 MB   20 MB   0.62   -        -              -

- one
- two
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// histogram has as many calls as it has milliseconds: one of 1 ms, one of 2 ms, and so on.
func histogram(calls int64) *hdrhistogram.Histogram {
	h := hdrhistogram.New(1, time.Minute.Microseconds(), 3)
	for i := range calls {
		_ = h.RecordValue((i + 1) * 1000)
	}
	return h
}

// words returns the text of an SVG, which must be well-formed.
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
			t.Errorf("the plot lacks %q: it has %s", want, got)
		}
	}
	if strings.Contains(got, "99.9 %") {
		t.Errorf("the scale goes beyond what two hundred calls tell: %s", got)
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
			t.Errorf("the plot lacks %q: it has %s", want, got)
		}
	}
}

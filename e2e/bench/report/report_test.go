// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/e2e/bench/report"
)

func example() *report.Report {
	r := &report.Report{
		Title: "Calls", Facts: []report.Fact{{Name: "cores", Value: "2"}, {Name: "kernel", Value: "6.1"}},
		Parts: []report.Part{{Name: "warm", Load: .5, Seconds: 12}},
	}
	r.Add(report.Row{Name: "pod: p50", Unit: "ms", Value: 4.5, Rounds: []float64{5.123, 4, 4.5}, Calls: 300, Lost: 7}, report.Samples("wrapper", "MB", 18))
	return r
}

func TestWriteText(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	if err := example().WriteText(&text); err != nil {
		t.Fatal(err)
	}
	want := `
Calls

cores   2
kernel  6.1

part  load before  duration
warm  0.50         12 s

          value    rounds  calls  lost
pod: p50  4.50 ms  4-5.12  300    7
wrapper   18 MB    18      0      0
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestReportRoundTrip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := example().Write(filepath.Join(dir, "report.json")); err != nil {
		t.Fatal(err)
	}
	got := new(report.Report)
	if err := report.Read(os.DirFS(dir), "report.json", got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(example(), got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if got.Fact("kernel") != "6.1" || got.Fact("none") != "" {
		t.Errorf("Fact() = %q, %q, want 6.1 and nothing", got.Fact("kernel"), got.Fact("none"))
	}
}

func TestMedianAndRatios(t *testing.T) {
	t.Parallel()
	row := report.Samples("a", "s", 4, 1, 2, 8)
	if row.Value != 3 {
		t.Errorf("Samples().Value = %v, want 3", row.Value)
	}
	if diff := cmp.Diff([]float64{2, .25, .5, 1}, row.Ratios(report.Samples("b", "s", 2, 4, 4, 8))); diff != "" {
		t.Errorf("Ratios() (-want +got):\n%s", diff)
	}
}

func TestNumberHasThreeDigits(t *testing.T) {
	t.Parallel()
	for value, want := range map[float64]string{0: "0", 18: "18", 1234.5: "1234", 302.4: "302", 18.26: "18.3", 5.534: "5.53", .0694: "0.069", -1.25: "-1.25"} {
		if got := report.Number(value); got != want {
			t.Errorf("Number(%v) = %q, want %q", value, got, want)
		}
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

// loads returns a function that returns the given loads, and then the last one again.
func loads(all ...float64) func() (float64, error) {
	return func() (float64, error) {
		load := all[0]
		all = all[min(1, len(all)-1):]
		return load, nil
	}
}

func TestAwaitQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			load func() (float64, error)
			want report.Fact
		}{
			{loads(.8), report.Fact{Name: "load average before", Value: "0.80"}},
			{loads(3, 2, .5), report.Fact{Name: "load average before", Value: "0.50"}},
			{loads(3, 2), report.Fact{Name: "load average before", Value: "2.00: **the machine was not quiet**, although the run waited for 1m0s"}},
		} {
			quiet, err := report.AwaitQuiet(t.Context(), .8, time.Minute, c.load)
			if err != nil || quiet.Fact() != c.want {
				t.Errorf("AwaitQuiet() = %v, %v, want %v", quiet.Fact(), err, c.want)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := report.AwaitQuiet(ctx, .8, time.Minute, loads(2)); !errors.Is(err, context.Canceled) {
			t.Errorf("AwaitQuiet() error with a cancelled context = %v, want %v", err, context.Canceled)
		}
	})
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

func TestWriteBars(t *testing.T) {
	t.Parallel()
	var svg bytes.Buffer
	err := report.WriteBars(&svg, "Starts", "Time (s)", []report.Bar{{Name: "pod\n3 s", Value: 3, Least: 2, Most: 5}, {Name: "call", Value: 1, Least: 1, Most: 1, Colour: 1}})
	if err != nil {
		t.Fatal(err)
	}
	got := words(t, svg.Bytes())
	for _, want := range []string{"Starts", "Time (s)", "pod", "3 s", "call", "5.00"} {
		if !strings.Contains(got, want) {
			t.Errorf("text of the plot lacks %q: %s", want, got)
		}
	}
}

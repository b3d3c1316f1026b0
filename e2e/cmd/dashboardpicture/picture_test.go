// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql"

	"github.com/krmfn/krmfn/e2e/generated"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
)

var update = flag.Bool("update", false, "write the picture anew")

func evaluated(t *testing.T) (d *dashboard, root string) {
	t.Helper()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	if d, err = evaluate(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	return d, root
}

// Each query of each panel returns data in the example.
func TestPanelsHaveData(t *testing.T) {
	t.Parallel()
	d, _ := evaluated(t)
	panels := 0
	for _, p := range d.Panels {
		if p.Type == "row" {
			continue
		}
		panels++
		if len(p.Targets) == 0 {
			t.Errorf("panel %q has no query", p.Title)
		}
		for _, target := range p.Targets {
			if !slices.ContainsFunc(target.matrix, func(s promql.Series) bool { return !math.IsNaN(latest(s)) || s.Floats[0].F >= 0 }) {
				t.Errorf("panel %q has no data for %s", p.Title, target.Query)
			}
		}
	}
	if panels == 0 {
		t.Error("the dashboard has no panels")
	}
}

// The rows are in the order in which an operator asks their questions, and panels do not overlap.
func TestLayout(t *testing.T) {
	t.Parallel()
	d, _ := evaluated(t)
	var rows []string
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		if p.Type == "row" {
			rows = append(rows, p.Title)
		}
		for x := p.Place.X; x < p.Place.X+p.Place.Width; x++ {
			for y := p.Place.Y; y < p.Place.Y+p.Place.Height; y++ {
				if before := taken[[2]int{x, y}]; before != "" || x >= columns {
					t.Fatalf("panel %q overlaps panel %q, or exceeds the width of the dashboard", p.Title, before)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
	if diff := cmp.Diff([]string{"Health", "Latency", "Saturation", "Warm-up and jobs"}, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// The picture in the checkout is up to date with the dashboard.
func TestPicture(t *testing.T) {
	t.Parallel()
	d, root := evaluated(t)
	got := string(svg(d))
	generated.Check(t, filepath.Join(root, picture), got, *update, "run this test with -update")
	for decoder := xml.NewDecoder(strings.NewReader(got)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the picture is not valid XML: %v", err)
		}
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	for want, tc := range map[string]struct {
		value float64
		unit  string
	}{
		"0": {0, "short"}, "12.3": {12.345, "short"}, "1234": {1234, "short"}, "99.7%": {.997, "percentunit"}, "1.5 GiB": {1.5 * 1024 * 1024 * 1024, "bytes"},
		"25 ms": {.025, "s"}, "2.5 s": {2.5, "s"}, "60 days": {60 * 24 * 3600, "s"}, "12.5 hours": {12.5 * 3600, "s"}, "17 min": {17 * 60, "s"}, "-": {math.NaN(), "s"}, "3.2 req/s": {3.2, "reqps"},
	} {
		if got := format(tc.value, tc.unit); got != want {
			t.Errorf("format(%v, %q) = %q, want %q", tc.value, tc.unit, got, want)
		}
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql"
)

// dashboardColumns is the width of Grafana's grid.
const dashboardColumns = 24

// panel holds the fields of a panel of a Grafana dashboard that the tests use.
type panel struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Position struct {
		X      int `json:"x"`
		Y      int `json:"y"`
		Width  int `json:"w"`
		Height int `json:"h"`
	} `json:"gridPos"`
	Targets []struct {
		Query string `json:"expr"`
	} `json:"targets"`
}

// panels returns the rows and the panels of the dashboard.
func panels(t *testing.T) []panel {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chartDir(t), "dashboards", "krmfn.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []panel `json:"panels"`
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	return dashboard.Panels
}

// Each query returns data for the example series of a release, which last half an hour.
func TestDashboardPanelsHaveData(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "dashboard_series.txt"))
	if err != nil {
		t.Fatal(err)
	}
	definitions := slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool {
		return line == "" || strings.HasPrefix(line, "#")
	})
	examples, err := parseSeries(t, time.Minute, definitions...)
	if err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$namespace", "porch-system", "$image", ".*")
	queries := 0
	for _, p := range panels(t) {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q has no query", p.Title)
		}
		for _, target := range p.Targets {
			queries++
			got, err := examples.between(t.Context(), variables.Replace(target.Query), 5*time.Minute, 30*time.Minute, time.Minute)
			if err != nil {
				t.Errorf("panel %q: %s: %v", p.Title, target.Query, err)
			}
			if !slices.ContainsFunc(got, hasValue) {
				t.Errorf("panel %q: %s returned %v, want values", p.Title, target.Query, got)
			}
		}
	}
	if queries == 0 {
		t.Error("the dashboard has no queries")
	}
}

func hasValue(s promql.Series) bool {
	return slices.ContainsFunc(s.Floats, func(point promql.FPoint) bool { return !math.IsNaN(point.F) })
}

// The rows have the order of the questions in docs/operate.md, and panels do not overlap.
func TestDashboardLayout(t *testing.T) {
	t.Parallel()
	var rows []string
	cells := map[[2]int]string{}
	for _, p := range panels(t) {
		if p.Type == "row" {
			rows = append(rows, p.Title)
		}
		if right := p.Position.X + p.Position.Width; right > dashboardColumns {
			t.Errorf("panel %q ends in column %d, want at most %d", p.Title, right, dashboardColumns)
		}
		for x := p.Position.X; x < p.Position.X+p.Position.Width; x++ {
			for y := p.Position.Y; y < p.Position.Y+p.Position.Height; y++ {
				if other, taken := cells[[2]int{x, y}]; taken {
					t.Fatalf("panels %q and %q overlap in column %d, line %d", other, p.Title, x, y)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
	}
	if diff := cmp.Diff([]string{"Health", "Latency", "Saturation", "Warm-up and jobs"}, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/krmfn/krmfn/e2e/series"
)

// dashboard holds the fields of a Grafana dashboard that the picture uses.
type dashboard struct {
	Title  string   `json:"title"`
	Panels []*panel `json:"panels"`
}

type panel struct {
	Type  string `json:"type"`
	Title string `json:"title"`
	Place struct {
		X      int `json:"x"`
		Y      int `json:"y"`
		Width  int `json:"w"`
		Height int `json:"h"`
	} `json:"gridPos"`
	Fields struct {
		Defaults struct {
			Unit       string `json:"unit"`
			Thresholds struct {
				Steps []struct {
					Color string   `json:"color"`
					Value *float64 `json:"value"`
				} `json:"steps"`
			} `json:"thresholds"`
			Custom struct {
				Stacking struct {
					Mode string `json:"mode"`
				} `json:"stacking"`
			} `json:"custom"`
		} `json:"defaults"`
		Overrides []struct {
			Matcher struct {
				Options string `json:"options"`
			} `json:"matcher"`
			Properties []struct {
				Value string `json:"value"`
			} `json:"properties"`
		} `json:"overrides"`
	} `json:"fieldConfig"`
	Targets []*target `json:"targets"`
}

type target struct {
	Query  string `json:"expr"`
	Legend string `json:"legendFormat"`
	// matrix is the result of the query over the time range of the example.
	matrix promql.Matrix
}

// The example lasts 30 minutes. The picture begins at the first time for which the longest range in a query is complete.
const (
	first, last = 5 * time.Minute, 30 * time.Minute
	step        = time.Minute
)

// variables replaces the dashboard's variables with values. 5m is the rate interval that Grafana computes for a scrape interval of one
// minute.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$namespace", "porch-system", "$image", ".*")

// evaluate returns the dashboard with the results of its queries over the series of the example.
func evaluate(ctx context.Context, root string) (*dashboard, error) {
	text, err := os.ReadFile(filepath.Join(root, dashboardFile))
	if err != nil {
		return nil, err
	}
	d := &dashboard{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("%s: %w", dashboardFile, err)
	}
	examples, err := readSeries(filepath.Join(root, seriesFile))
	if err != nil {
		return nil, err
	}
	defer examples.Close() //nolint:errcheck // it is in memory
	for _, p := range d.Panels {
		for _, t := range p.Targets {
			if t.matrix, err = examples.Between(ctx, variables.Replace(t.Query), first, last, step); err != nil {
				return nil, fmt.Errorf("panel %q: %s: %w", p.Title, t.Query, err)
			}
		}
	}
	return d, nil
}

// readSeries reads a file with one series per line. Lines that begin with # are comments.
func readSeries(file string) (*series.Examples, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var definitions []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			definitions = append(definitions, line)
		}
	}
	examples, err := series.Parse(step, definitions...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return examples, nil
}

var placeholder = regexp.MustCompile(`\{\{(\w+)\}\}`)

// name returns the name of a series in the legend.
func (t *target) name(metric labels.Labels) string {
	return placeholder.ReplaceAllStringFunc(t.Legend, func(label string) string { return metric.Get(strings.Trim(label, "{}")) })
}

// color returns the colour of a value according to the panel's thresholds.
func (p *panel) color(value float64) string {
	color := ""
	for _, s := range p.Fields.Defaults.Thresholds.Steps {
		if s.Value == nil || value >= *s.Value {
			color = s.Color
		}
	}
	return color
}

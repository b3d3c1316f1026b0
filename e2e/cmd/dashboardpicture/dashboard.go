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
	"github.com/prometheus/prometheus/promql/promqltest"
)

// dashboard is what the picture takes of one of Grafana's.
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
	// matrix is what the query returns over the time of the example.
	matrix promql.Matrix
}

// The example lasts half an hour. What is drawn begins once the longest range of a query is full.
const (
	first, last = 5 * time.Minute, 30 * time.Minute
	step        = time.Minute
)

// variables are the values of the dashboard's variables. The interval of rates is what Grafana makes it for a scrape each minute.
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
	series, err := os.ReadFile(filepath.Join(root, seriesFile))
	if err != nil {
		return nil, err
	}
	example, err := promqltest.NewLazyLoader(string(series), promqltest.LazyLoaderOpts{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", seriesFile, err)
	}
	defer example.Close() //nolint:errcheck // it is in memory
	example.WithSamplesTill(at(last), func(loading error) { err = loading })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", seriesFile, err)
	}
	for _, p := range d.Panels {
		for _, t := range p.Targets {
			if t.matrix, err = query(ctx, example, variables.Replace(t.Query)); err != nil {
				return nil, fmt.Errorf("panel %q: %s: %w", p.Title, t.Query, err)
			}
		}
	}
	return d, nil
}

func query(ctx context.Context, example *promqltest.LazyLoader, text string) (promql.Matrix, error) {
	q, err := example.QueryEngine().NewRangeQuery(ctx, example.Storage(), nil, text, at(first), at(last), step)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	found, err := q.Exec(ctx).Matrix()
	if err != nil {
		return nil, err
	}
	matrix := make(promql.Matrix, 0, len(found))
	for _, s := range found {
		matrix = append(matrix, promql.Series{Metric: s.Metric, Floats: append([]promql.FPoint(nil), s.Floats...)})
	}
	return matrix, nil
}

func at(since time.Duration) time.Time { return time.Unix(0, 0).UTC().Add(since) }

var placeholder = regexp.MustCompile(`\{\{(\w+)\}\}`)

// name is what the legend calls a series.
func (t *target) name(metric labels.Labels) string {
	return placeholder.ReplaceAllStringFunc(t.Legend, func(label string) string { return metric.Get(strings.Trim(label, "{}")) })
}

// color returns the colour that a value has by the thresholds.
func (p *panel) color(value float64) string {
	color := ""
	for _, s := range p.Fields.Defaults.Thresholds.Steps {
		if s.Value == nil || value >= *s.Value {
			color = s.Color
		}
	}
	return color
}

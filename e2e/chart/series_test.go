// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
)

// maxSamples limits the samples that a query may load.
const maxSamples = 100_000

// exampleSeries evaluates PromQL queries over series in memory. Each series has a sample at each interval, the first one at time zero.
// Prometheus' own test package would link the database and the clients of three clouds.
type exampleSeries struct {
	engine *promql.Engine
	all    []storage.Series
}

// parseSeries returns the series of definitions. A definition is a selector and values in the notation of promtool, for example
// `up{job="a"} 1x20`. The query engine is closed at the end of the test.
func parseSeries(t *testing.T, interval time.Duration, definitions ...string) (*exampleSeries, error) {
	t.Helper()
	x := &exampleSeries{}
	for _, definition := range definitions {
		set, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(definition)
		if err != nil {
			return nil, fmt.Errorf("series %s: %w", definition, err)
		}
		samples := chunkenc.NewXORChunk()
		appender, err := samples.Appender()
		if err != nil {
			return nil, fmt.Errorf("series %s: %w", definition, err)
		}
		for i, value := range values {
			if !value.Omitted {
				appender.Append(0, int64(i)*interval.Milliseconds(), value.Value)
			}
		}
		x.all = append(x.all, &storage.SeriesEntry{Lset: set, SampleIteratorFn: samples.Iterator})
	}
	slices.SortFunc(x.all, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	x.engine = promql.NewEngine(promql.EngineOpts{MaxSamples: maxSamples, Timeout: time.Minute})
	t.Cleanup(func() {
		if err := x.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return x, nil
}

// at returns the result of a query at a time.
func (x *exampleSeries) at(ctx context.Context, query string, at time.Duration) (promql.Vector, error) {
	q, err := x.engine.NewInstantQuery(ctx, x.queryable(), nil, query, timestamp(at))
	if err != nil {
		return nil, err
	}
	defer q.Close()
	found, err := q.Exec(ctx).Vector()
	return slices.Clone(found), err
}

// between returns the results of a query at each step from the first time to the last.
func (x *exampleSeries) between(ctx context.Context, query string, first, last, step time.Duration) (promql.Matrix, error) {
	q, err := x.engine.NewRangeQuery(ctx, x.queryable(), nil, query, timestamp(first), timestamp(last), step)
	if err != nil {
		return nil, err
	}
	defer q.Close() // The engine reuses the slices of points from here on.
	found, err := q.Exec(ctx).Matrix()
	if err != nil {
		return nil, err
	}
	matrix := make(promql.Matrix, len(found))
	for i, s := range found {
		matrix[i] = promql.Series{Metric: s.Metric, Floats: slices.Clone(s.Floats)}
	}
	return matrix, nil
}

func timestamp(at time.Duration) time.Time { return time.Unix(0, 0).UTC().Add(at) }

// queryable returns a Queryable that selects from the series.
func (x *exampleSeries) queryable() storage.Queryable {
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			return &selectedSeries{left: slices.DeleteFunc(slices.Clone(x.all), func(s storage.Series) bool {
				return slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) })
			})}
		},
	}}
}

// selectedSeries is a storage.SeriesSet.
type selectedSeries struct {
	left    []storage.Series
	current storage.Series
}

func (s *selectedSeries) Next() bool {
	if len(s.left) == 0 {
		return false
	}
	s.current, s.left = s.left[0], s.left[1:]
	return true
}

func (s *selectedSeries) At() storage.Series              { return s.current }
func (*selectedSeries) Err() error                        { return nil }
func (*selectedSeries) Warnings() annotations.Annotations { return nil }

func TestSeriesAt(t *testing.T) {
	t.Parallel()
	examples, err := parseSeries(t, time.Minute, `calls_total{pod="b"} 0+60x20`, `calls_total{pod="a"} 0+120x5 _x15`, `up{pod="a"} 1x2 0x20`)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		query string
		at    time.Duration
		want  string
	}{
		"a sample":                     {`up`, time.Minute, `{__name__="up", pod="a"} => 1 @[60000]`},
		"a later sample":               {`up`, 3 * time.Minute, `{__name__="up", pod="a"} => 0 @[180000]`},
		"between samples":              {`up`, 90 * time.Second, `{__name__="up", pod="a"} => 1 @[90000]`},
		"a series that has ended":      {`calls_total`, 15 * time.Minute, `{__name__="calls_total", pod="b"} => 900 @[900000]`},
		"a label":                      {`calls_total{pod=~"a|c"}`, 0, `{__name__="calls_total", pod="a"} => 0 @[0]`},
		"no label":                     {`calls_total{pod!="b", code=""}`, 0, `{__name__="calls_total", pod="a"} => 0 @[0]`},
		"a rate":                       {`rate(calls_total{pod="b"}[5m])`, 10 * time.Minute, `{pod="b"} => 1 @[600000]`},
		"a comparison with no result":  {`up > 1`, time.Minute, ``},
		"series that nothing selects":  {`down`, time.Minute, ``},
		"samples after the query time": {`max_over_time(calls_total{pod="b"}[2m])`, 2 * time.Minute, `{pod="b"} => 120 @[120000]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := examples.at(t.Context(), tc.query, tc.at)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != tc.want {
				t.Errorf("at(%s, %v) = %v, want %s", tc.query, tc.at, got, tc.want)
			}
		})
	}
}

func TestSeriesBetween(t *testing.T) {
	t.Parallel()
	examples, err := parseSeries(t, time.Minute, `up{pod="a"} 0+1x4`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := examples.between(t.Context(), "up", time.Minute, 3*time.Minute, 2*time.Minute)
	if want := "{__name__=\"up\", pod=\"a\"} =>\n1 @[60000]\n3 @[180000]"; err != nil || got.String() != want {
		t.Errorf("between() = %v, %v, want %s", got, err, want)
	}
}

func TestSeriesErrors(t *testing.T) {
	t.Parallel()
	if _, err := parseSeries(t, time.Minute, "up{"); err == nil || !strings.Contains(err.Error(), "series up{: ") {
		t.Errorf("parseSeries() error = %v, want one that names the series", err)
	}
	examples, err := parseSeries(t, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := examples.at(t.Context(), "up +", 0); err == nil {
		t.Error("at() of an invalid query returned no error")
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package series evaluates PromQL queries over example series in memory. It does not use Prometheus' own test package, because that package
// links the database and the clients of three clouds.
package series

import (
	"context"
	"fmt"
	"slices"
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

// Examples are series with a sample at each interval. The first sample is at time zero.
type Examples struct {
	engine *promql.Engine
	all    []storage.Series
}

// Parse returns the series of definitions. A definition is a selector and values in the notation of promtool, for example `up{job="a"}
// 1x20`. The caller must call Close.
func Parse(interval time.Duration, definitions ...string) (*Examples, error) {
	x := &Examples{}
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
		for number, value := range values {
			if !value.Omitted {
				appender.Append(0, int64(number)*interval.Milliseconds(), value.Value)
			}
		}
		x.all = append(x.all, &storage.SeriesEntry{Lset: set, SampleIteratorFn: samples.Iterator})
	}
	slices.SortFunc(x.all, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	x.engine = promql.NewEngine(promql.EngineOpts{MaxSamples: maxSamples, Timeout: time.Minute})
	return x, nil
}

// Close releases the query engine.
func (x *Examples) Close() error { return x.engine.Close() }

// At returns the result of a query at a time.
func (x *Examples) At(ctx context.Context, query string, at time.Duration) (promql.Vector, error) {
	q, err := x.engine.NewInstantQuery(ctx, x.queryable(), nil, query, timestamp(at))
	if err != nil {
		return nil, err
	}
	defer q.Close()
	found, err := q.Exec(ctx).Vector()
	return slices.Clone(found), err
}

// Between returns the results of a query at each step from the first time to the last.
func (x *Examples) Between(ctx context.Context, query string, first, last, step time.Duration) (promql.Matrix, error) {
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
func (x *Examples) queryable() storage.Queryable {
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			return &selection{left: slices.DeleteFunc(slices.Clone(x.all), func(s storage.Series) bool {
				return slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) })
			})}
		},
	}}
}

// selection iterates over selected series.
type selection struct {
	left    []storage.Series
	current storage.Series
}

func (s *selection) Next() bool {
	if len(s.left) == 0 {
		return false
	}
	s.current, s.left = s.left[0], s.left[1:]
	return true
}

func (s *selection) At() storage.Series              { return s.current }
func (*selection) Err() error                        { return nil }
func (*selection) Warnings() annotations.Annotations { return nil }

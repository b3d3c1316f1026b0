// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package memo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/protobuf/proto"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// Cache keeps answers, within a bound of bytes. Those that were not asked for for longest go first. It may be used by any number of
// goroutines at once; it has none of its own.
type Cache struct {
	limit  int64
	counts struct{ hits, misses, evictions atomic.Int64 }

	// mu guards what follows. It is held for moments, never while a function is evaluated.
	mu      sync.Mutex
	answers *simplelru.LRU[key, *answer]
	bytes   int64
	flights map[key]*flight
}

const (
	// overhead is what an answer takes in bytes beside its list and its report: its key, its places in map and list, itself.
	overhead = 512
	// largest is the part of the cache that one answer may take.
	largest = 4
)

// New returns an empty cache for so many bytes, above 0. It measures:
//
//   - krm_result_cache_lookups (result): evaluations of deterministic functions that had the answer of an earlier one (hit), or ran (miss)
//   - krm_result_cache_evictions: answers that went to make room
//   - krm_result_cache_bytes, krm_result_cache_entries: what is kept
//
// The error is that the metrics cannot be made.
func New(limit int64, meter metric.Meter) (*Cache, error) {
	c := &Cache{limit: limit, flights: map[key]*flight{}}
	var err error
	// Their bytes are what bounds the answers, not their number.
	if c.answers, err = simplelru.NewLRU(math.MaxInt, func(_ key, a *answer) { c.bytes -= a.size() }); err != nil {
		return nil, err
	}
	return c, c.observe(meter)
}

func (c *Cache) observe(meter metric.Meter) error {
	lookups, err1 := meter.Int64ObservableCounter("krm_result_cache_lookups", metric.WithDescription("Evaluations of deterministic functions, by whether the answer was there."))
	evictions, err2 := meter.Int64ObservableCounter("krm_result_cache_evictions", metric.WithDescription("Answers that went to make room."))
	size, err3 := meter.Int64ObservableGauge("krm_result_cache_bytes", metric.WithUnit("By"), metric.WithDescription("Memory of the answers that are kept."))
	entries, err4 := meter.Int64ObservableGauge("krm_result_cache_entries", metric.WithDescription("Answers that are kept."))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		c.mu.Lock()
		bytes, number := c.bytes, c.answers.Len()
		c.mu.Unlock()
		o.ObserveInt64(lookups, c.counts.hits.Load(), metric.WithAttributes(attribute.String("result", "hit")))
		o.ObserveInt64(lookups, c.counts.misses.Load(), metric.WithAttributes(attribute.String("result", "miss")))
		o.ObserveInt64(evictions, c.counts.evictions.Load())
		o.ObserveInt64(size, bytes)
		o.ObserveInt64(entries, int64(number))
		return nil
	}, lookups, evictions, size, entries)
	return err
}

// keep keeps an answer, unless it is too large, and has others make room for it.
func (c *Cache) keep(k key, a *answer) {
	if a.size() > c.limit/largest {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// Bytes are counted down for what goes, not for what is replaced.
	c.answers.Remove(k)
	c.answers.Add(k, a)
	c.bytes += a.size()
	for c.bytes > c.limit {
		c.answers.RemoveOldest()
		c.counts.evictions.Add(1)
	}
}

// answer is one without a failure. It does not change.
type answer struct {
	list []byte
	// report is encoded: it takes as many bytes as it has, and nobody can change it.
	report []byte
}

// newAnswer returns the answer that a response is; nil for one that cannot be encoded, which its caller may deal with.
func newAnswer(resp evaluation.Response) *answer {
	report, _ := proto.Clone(resp.Report).(*evaluationv1.Evaluation)
	report.Timings, report.Cached = nil, true
	encoded, err := proto.Marshal(report)
	if err != nil {
		return nil
	}
	a := &answer{list: resp.ResourceList, report: encoded}
	// What was read grew while it was read.
	if unused := cap(a.list) - len(a.list); unused > len(a.list)/8 {
		a.list = bytes.Clone(a.list)
	}
	return a
}

func (a *answer) size() int64 { return int64(cap(a.list) + cap(a.report) + overhead) }

// response returns the answer for a call that has waited for it.
func (a *answer) response(waited time.Duration) (evaluation.Response, error) {
	report := &evaluationv1.Evaluation{}
	if err := proto.Unmarshal(a.report, report); err != nil {
		return evaluation.Response{}, fmt.Errorf("read an answer that was kept: %w", err)
	}
	return queued(evaluation.Response{ResourceList: a.list, Report: report}, waited), nil
}

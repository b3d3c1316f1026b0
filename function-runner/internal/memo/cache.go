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

// Cache is a result cache, limited in bytes. It evicts the least recently used results. It is safe for concurrent use and starts no
// goroutines.
type Cache struct {
	limit  int64
	counts struct{ hits, misses, evictions atomic.Int64 }

	// mu guards the following fields. It is held only briefly, never while a function is evaluated.
	mu      sync.Mutex
	results *simplelru.LRU[key, *cachedResult]
	bytes   int64
	flights map[key]*flight
}

const (
	// overhead is an estimate, in bytes, of the memory that a result takes besides its list and its report: key, map and list entries.
	overhead = 512
	// sizeDivisor limits the size of one result to 1/sizeDivisor of the cache.
	sizeDivisor = 4
)

// New returns an empty cache of limit bytes; limit must be positive. It exports these metrics:
//
// - krm_result_cache_lookups (result): evaluations of deterministic functions whose result was cached (hit) or not (miss)
// - krm_result_cache_evictions: results evicted in favour of others
// - krm_result_cache_bytes, krm_result_cache_entries: size of the cache
//
// It returns an error if the metrics cannot be registered.
func New(limit int64, meter metric.Meter) (*Cache, error) {
	c := &Cache{limit: limit, flights: map[key]*flight{}}
	var err error
	// The number of results is not limited, only their size.
	if c.results, err = simplelru.NewLRU(math.MaxInt, func(_ key, a *cachedResult) { c.bytes -= a.size() }); err != nil {
		return nil, err
	}
	return c, c.observe(meter)
}

func (c *Cache) observe(meter metric.Meter) error {
	lookups, err1 := meter.Int64ObservableCounter("krm_result_cache_lookups", metric.WithDescription("Evaluations of deterministic functions, by whether the result was cached."))
	evictions, err2 := meter.Int64ObservableCounter("krm_result_cache_evictions", metric.WithDescription("Cached results that were evicted."))
	size, err3 := meter.Int64ObservableGauge("krm_result_cache_bytes", metric.WithUnit("By"), metric.WithDescription("Memory that cached results use."))
	entries, err4 := meter.Int64ObservableGauge("krm_result_cache_entries", metric.WithDescription("Cached results."))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		c.mu.Lock()
		bytes, number := c.bytes, c.results.Len()
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

// add adds a result, unless it is too large, and evicts others until the cache is within its limit.
func (c *Cache) add(k key, a *cachedResult) {
	if a.size() > c.limit/sizeDivisor {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// The LRU's eviction callback subtracts bytes for removed results, but not for replaced ones.
	c.results.Remove(k)
	c.results.Add(k, a)
	c.bytes += a.size()
	for c.bytes > c.limit {
		c.results.RemoveOldest()
		c.counts.evictions.Add(1)
	}
}

// cachedResult is a cached result. It is immutable.
type cachedResult struct {
	list []byte
	// report is encoded, so that its size is known and callers cannot modify it.
	report []byte
}

// newCachedResult returns the cached result for a response, or nil if its report cannot be encoded. The response is then not cached.
func newCachedResult(resp evaluation.Response) *cachedResult {
	report, _ := proto.Clone(resp.Report).(*evaluationv1.Evaluation)
	report.Timings, report.Cached = nil, true
	encoded, err := proto.Marshal(report)
	if err != nil {
		return nil
	}
	a := &cachedResult{list: resp.ResourceList, report: encoded}
	// A list that was read from a pipe may have much unused capacity.
	if unused := cap(a.list) - len(a.list); unused > len(a.list)/8 {
		a.list = bytes.Clone(a.list)
	}
	return a
}

func (a *cachedResult) size() int64 { return int64(cap(a.list) + cap(a.report) + overhead) }

// response returns the result for a call that has waited for it for the given time.
func (a *cachedResult) response(waited time.Duration) (evaluation.Response, error) {
	report := &evaluationv1.Evaluation{}
	if err := proto.Unmarshal(a.report, report); err != nil {
		return evaluation.Response{}, fmt.Errorf("decode a cached result: %w", err)
	}
	return queued(evaluation.Response{ResourceList: a.list, Report: report}, waited), nil
}

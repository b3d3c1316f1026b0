// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package memo caches results of functions that declare themselves deterministic: the same function on the same bytes need not run
// twice.
package memo

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// Keep returns an evaluator that evaluates a request with e, or returns the cached result of an earlier request with the same name and
// the same bytes. The name must identify everything else that the result depends on: the program and its configuration. The image of
// the request is ignored.
//
// Of concurrent equal requests, one is evaluated, and the others get its result. If its caller leaves, the next request is evaluated.
// If it fails, each request is evaluated separately. Failures are not cached, nor are results larger than a quarter of the cache.
//
// The report of a cached result says that it is cached. Its timings describe this call, which may have waited for another.
// Everything else comes from the evaluation that ran. Callers share the ResourceList and must not modify it.
//
// On a nil Cache, Keep returns e.
func (c *Cache) Keep(name string, e evaluation.Evaluator) evaluation.Evaluator {
	if c == nil {
		return e
	}
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		return c.evaluate(ctx, keyOf(name, req), req, e)
	})
}

// Add caches a response that was obtained without Keep. It is for functions whose declaration becomes known after their first call. On
// a nil Cache, it does nothing.
func (c *Cache) Add(name string, req evaluation.Request, resp evaluation.Response) {
	if c == nil || resp.Report.GetFailure() != nil {
		return
	}
	if a := newCachedResult(resp); a != nil {
		c.add(keyOf(name, req), a)
	}
}

// key is a SHA-256 hash of the name, the request's limit and its list.
type key [sha256.Size]byte

func keyOf(name string, req evaluation.Request) (k key) {
	// Lengths separate the parts.
	head := make([]byte, 0, 128)
	head = binary.LittleEndian.AppendUint64(head, uint64(len(name)))
	head = append(head, name...)
	head = binary.LittleEndian.AppendUint64(head, uint64(req.MaxOutput)) //nolint:gosec // G115: any number will do
	hash := sha256.New()
	hash.Write(head)
	hash.Write(req.ResourceList)
	hash.Sum(k[:0])
	return k
}

// flight is an evaluation that other calls wait for. After done is closed, it is immutable.
type flight struct {
	done chan struct{}
	// result is nil if the evaluation failed. abandoned means that it failed because its caller left.
	result    *cachedResult
	abandoned bool
}

func (c *Cache) evaluate(ctx context.Context, k key, req evaluation.Request, e evaluation.Evaluator) (evaluation.Response, error) {
	begin := time.Now()
	for {
		cached, f, lead := c.begin(k)
		switch {
		case cached != nil:
			return cached.response(time.Since(begin))
		case lead:
			waited := time.Since(begin)
			resp, err := c.lead(ctx, k, f, req, e)
			return queued(resp, waited), err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return evaluation.Response{}, context.Cause(ctx)
		}
		switch {
		case f.result != nil:
			c.counts.hits.Add(1)
			return f.result.response(time.Since(begin))
		case !f.abandoned:
			c.counts.misses.Add(1)
			waited := time.Since(begin)
			resp, err := e.Evaluate(ctx, req)
			return queued(resp, waited), err
		}
	}
}

// begin returns the cached result, or the flight to wait for. If lead is true, the caller must evaluate the request for that flight.
func (c *Cache) begin(k key) (cached *cachedResult, f *flight, lead bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cached, ok := c.results.Get(k); ok {
		c.counts.hits.Add(1)
		return cached, nil, false
	}
	if f, ok := c.flights[k]; ok {
		return nil, f, false
	}
	c.counts.misses.Add(1)
	f = &flight{done: make(chan struct{})}
	c.flights[k] = f
	return nil, f, true
}

// lead evaluates a request for a flight. It completes the flight in any case, even after a panic.
func (c *Cache) lead(ctx context.Context, k key, f *flight, req evaluation.Request, e evaluation.Evaluator) (evaluation.Response, error) {
	f.abandoned = true
	defer func() {
		c.mu.Lock()
		delete(c.flights, k)
		c.mu.Unlock()
		close(f.done)
	}()
	resp, err := e.Evaluate(ctx, req)
	if f.abandoned = ctx.Err() != nil; err != nil || resp.Report.GetFailure() != nil {
		return resp, err
	}
	if f.result = newCachedResult(resp); f.result != nil {
		c.add(k, f.result)
	}
	return resp, nil
}

// queued adds the time that a call has waited for a flight to the queue time of its report.
func queued(resp evaluation.Response, waited time.Duration) evaluation.Response {
	if resp.Report != nil {
		if resp.Report.Timings == nil {
			resp.Report.Timings = &evaluationv1.Timings{}
		}
		resp.Report.Timings.Queue = durationpb.New(resp.Report.GetTimings().GetQueue().AsDuration() + waited)
	}
	return resp
}

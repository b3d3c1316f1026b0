// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package memo keeps the answers of functions that declare themselves deterministic: the same function over the same bytes need not
// run twice.
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

// Keep returns an evaluator that gives the answer of e, or the one that e has given before to a request of the same bytes under the
// same name. The name must tell all that the answer comes of, beside the request: which program runs, and how. Requests' images are of
// no account.
//
// Of equal requests at the same time one is evaluated, and the others get its answer. Where its caller has gone, the next one is
// evaluated; where it failed, each is evaluated for itself. Only answers without a failure are kept, and none that takes more than a
// quarter of the cache.
//
// The report of an answer that was kept says so. Its results, standard error and the rest are those of the evaluation that it comes
// from; its timings are those of this call, which may have waited for another. The ResourceList is shared by all who get it: it must
// not be changed.
//
// On a nil Cache it returns e.
func (c *Cache) Keep(name string, e evaluation.Evaluator) evaluation.Evaluator {
	if c == nil {
		return e
	}
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		return c.evaluate(ctx, keyOf(name, req), req, e)
	})
}

// Add keeps an answer that an evaluator has given without Keep, as if it had been given with it: of a function that turns out to be
// deterministic after its first call. On a nil Cache it does nothing.
func (c *Cache) Add(name string, req evaluation.Request, resp evaluation.Response) {
	if c == nil || resp.Report.GetFailure() != nil {
		return
	}
	if a := newAnswer(resp); a != nil {
		c.keep(keyOf(name, req), a)
	}
}

// key is a hash that no two different requests have.
type key [sha256.Size]byte

func keyOf(name string, req evaluation.Request) (k key) {
	// Lengths keep the parts apart.
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

// flight is an evaluation that others wait for. It has landed when done is closed, and does not change then.
type flight struct {
	done chan struct{}
	// answer is nil where the evaluation failed; abandoned says that it failed because its caller has gone.
	answer    *answer
	abandoned bool
}

func (c *Cache) evaluate(ctx context.Context, k key, req evaluation.Request, e evaluation.Evaluator) (evaluation.Response, error) {
	begin := time.Now()
	for {
		kept, f, leads := c.begin(k)
		switch {
		case kept != nil:
			return kept.response(time.Since(begin))
		case leads:
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
		case f.answer != nil:
			c.counts.hits.Add(1)
			return f.answer.response(time.Since(begin))
		case !f.abandoned:
			c.counts.misses.Add(1)
			waited := time.Since(begin)
			resp, err := e.Evaluate(ctx, req)
			return queued(resp, waited), err
		}
	}
}

// begin returns the answer to a request, or the flight that it is to wait for, or to lead.
func (c *Cache) begin(k key) (kept *answer, f *flight, leads bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept, ok := c.answers.Get(k); ok {
		c.counts.hits.Add(1)
		return kept, nil, false
	}
	if f, ok := c.flights[k]; ok {
		return nil, f, false
	}
	c.counts.misses.Add(1)
	f = &flight{done: make(chan struct{})}
	c.flights[k] = f
	return nil, f, true
}

// lead evaluates a request that others may wait for. They are let go however it ends, a panic included.
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
	if f.answer = newAnswer(resp); f.answer != nil {
		c.keep(k, f.answer)
	}
	return resp, nil
}

// queued adds the time that a call has waited for another to what it has waited otherwise.
func queued(resp evaluation.Response, waited time.Duration) evaluation.Response {
	if resp.Report != nil {
		if resp.Report.Timings == nil {
			resp.Report.Timings = &evaluationv1.Timings{}
		}
		resp.Report.Timings.Queue = durationpb.New(resp.Report.GetTimings().GetQueue().AsDuration() + waited)
	}
	return resp
}

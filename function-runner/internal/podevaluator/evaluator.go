// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package podevaluator evaluates functions in function pods. A call on a ready pod asks neither the API server nor a registry.
package podevaluator

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/function-runner/internal/podmanager"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/memo"
	"github.com/krmfn/krmfn/services/images/policy"
	"github.com/krmfn/krmfn/services/images/registry"
)

// pauses are the delays before the second and later attempts to send a call that a pod has rejected. The pod gets no other calls before
// it has shown that it serves, so that the next attempt goes elsewhere, or waits. A call that a busy pod has sent back is not among
// these attempts: it waits in the pool's queue until its deadline.
var pauses = []time.Duration{
	time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond,
}

// Resolver tells which digest a reference names now. A known one costs no request.
type Resolver interface {
	Resolve(ctx context.Context, reference string) (digest string, err error)
}

// Config is what an evaluator needs.
type Config struct {
	// Reference returns what is pulled for an image that calls name.
	Reference func(image string) (string, error)
	Resolver  Resolver
	Pods      *podmanager.Manager
	// MaxTime returns the most time that an evaluation of a function may take, by its resolved reference; 0 for no limit.
	MaxTime func(reference string) time.Duration
	// Memo keeps the answers of deterministic functions; nil keeps none. Deterministic tells whether a function is, by its resolved
	// reference and its digest, and whether that is known at all. It does not wait.
	Memo          *memo.Cache
	Deterministic func(reference, digest string) (deterministic, known bool)
	Tracer        trace.Tracer
	// Meter makes krm_function_retries (image): calls that a pod has not begun with and that were sent again.
	Meter metric.Meter
}

// Evaluator evaluates functions in pods. It is an evaluation.Evaluator.
type Evaluator struct {
	config  Config
	retries metric.Int64Counter
}

// New returns an evaluator. The error is that the metrics cannot be made.
func New(c Config) (*Evaluator, error) {
	retries, err := c.Meter.Int64Counter("krm_function_retries", metric.WithDescription("Calls that a function pod has not begun with and that were sent again."))
	return &Evaluator{config: c, retries: retries}, err
}

// Evaluate runs the function of the request's image in one of its pods. Errors beside those that ctx ends with:
// *evaluation.StartError, *evaluation.BusyError, *endpoint.LostError.
func (e *Evaluator) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	if req.Image == "" {
		return evaluation.Response{}, &evaluation.NotFoundError{}
	}
	reference, err := e.config.Reference(req.Image)
	if err != nil {
		return evaluation.Response{}, &evaluation.StartError{Image: req.Image, Err: err, Rejected: true}
	}
	if limit := e.config.MaxTime(reference); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, &evaluation.TimeoutError{Limit: limit})
		defer cancel()
	}
	c := &call{Evaluator: e, reference: reference, clock: newClock()}
	resp, err := c.evaluate(ctx, req)
	if err != nil && isOver(ctx) {
		err = c.clock.explain(context.Cause(ctx), c.doing)
	}
	return resp, err
}

// isOver tells whether ctx has ended. At its deadline the pod's answer that time is over may come before the end of ctx.
func isOver(ctx context.Context) bool {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}

// call is one evaluation on its way.
type call struct {
	*Evaluator
	reference, digest string
	clock             *clock
	// pool is the pool of the last attempt.
	pool *pool.Pool
	// doing says what the call is waiting for, for the error at its deadline.
	doing func() string
}

func (c *call) evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	if err := c.resolve(ctx); err != nil {
		return evaluation.Response{}, err
	}
	if c.config.Memo == nil {
		return c.run(ctx, req)
	}
	deterministic, known := c.config.Deterministic(c.reference, c.digest)
	if known && !deterministic {
		return c.run(ctx, req)
	}
	p := c.config.Pods.Pool(c.reference, c.digest) //nolint:contextcheck // pods outlive the calls that want them
	defer p.Done()
	if !c.config.Pods.Cacheable(p) {
		return c.run(ctx, req)
	}
	if !known {
		resp, err := c.run(ctx, req)
		if deterministic, _ := c.config.Deterministic(c.reference, c.digest); deterministic && err == nil && c.ranIn(p) {
			c.config.Memo.Add(p.ID.String(), req, resp)
		}
		return resp, err
	}
	return c.evaluateCached(ctx, p, req)
}

// evaluateCached returns the cached answer of a pool, or runs the function and caches the answer.
func (c *call) evaluateCached(ctx context.Context, p *pool.Pool, req evaluation.Request) (evaluation.Response, error) {
	c.doing = func() string { return "another call of the function with the same ResourceList is running" }
	resp, err := c.config.Memo.Keep(p.ID.String(), evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		resp, err := c.run(ctx, req)
		if err == nil && !c.ranIn(p) {
			err = errSuperseded
		}
		return resp, err
	})).Evaluate(ctx, req)
	if errors.Is(err, errSuperseded) {
		err = nil
	}
	if resp.Report.GetCached() {
		resp.Report.Timings.Start = durationpb.New(c.clock.resolving)
	}
	return resp, err
}

// errSuperseded keeps the result cache from keeping an answer: another pool gave it than the one that the cache was asked about, because
// settings changed during the call. The caller gets the answer.
var errSuperseded = errors.New("the pool was superseded during the call")

// ranIn reports whether the last attempt went to a pod of this pool.
func (c *call) ranIn(p *pool.Pool) bool { return c.pool == p }

// run runs the function in a pod, in another one where the first has not begun.
func (c *call) run(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	acquire := (*pool.Pool).Acquire
	for attempt := 0; ; {
		resp, err := c.attempt(ctx, req.ResourceList, acquire)
		notRun, again := errors.AsType[*endpoint.NotRunError](err)
		switch {
		case again && notRun.Busy && ctx.Err() == nil:
			acquire = (*pool.Pool).Reacquire
		case !again && !errors.As(err, new(*podmanager.ReplacedError)), attempt == len(pauses), !pause(ctx, pauses[attempt]):
			return resp, err
		default:
			attempt++
		}
		c.retried(ctx, c.reference)
	}
}

// pause waits for a time, give or take a quarter, and tells whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d*3/4 + rand.N(d/2)): //nolint:gosec // G404: not a secret
		return true
	}
}

// resolve finds the digest of the image.
func (c *call) resolve(ctx context.Context) error {
	ctx, span := c.config.Tracer.Start(ctx, "resolve")
	defer span.End()
	defer c.clock.spend(&c.clock.resolving)()
	c.doing = func() string { return "the registry has not answered" }
	select {
	case <-c.config.Pods.Synced():
	case <-ctx.Done():
		c.doing = func() string { return "the API server has not told which function pods there are" }
		return context.Cause(ctx)
	}
	var err error
	if c.digest, err = c.config.Resolver.Resolve(ctx, c.reference); err != nil {
		return c.startError(err)
	}
	return nil
}

// startError is what a call ends with that has no pod.
func (c *call) startError(err error) error {
	return &evaluation.StartError{Image: c.reference, Err: err, Rejected: isRejected(err)}
}

// isRejected tells whether the image that the caller named is at fault, and neither a registry nor the cluster.
func isRejected(err error) bool {
	return errors.As(err, new(*registry.NotFoundError)) || errors.As(err, new(*registry.UnauthorizedError)) ||
		errors.As(err, new(*registry.UnusableError)) || errors.As(err, new(*policy.RefusedError))
}

// attempt sends the call to one pod.
func (c *call) attempt(ctx context.Context, list []byte, acquire acquire) (evaluation.Response, error) {
	p := c.config.Pods.Pool(c.reference, c.digest) //nolint:contextcheck // pods outlive the calls that need them
	defer p.Done()
	lease, err := c.acquire(ctx, p, acquire)
	if err != nil {
		return evaluation.Response{}, err
	}
	defer lease.Release()
	defer c.clock.spend(&c.clock.executing)()
	c.doing = func() string { return "function pod " + lease.Endpoint.Pod + " runs the function" }
	resp, err := lease.Evaluate(ctx, list)
	if resp.Report != nil {
		c.complete(resp.Report, lease.Endpoint.Pod)
	}
	return resp, err
}

// acquire is pool.Pool.Acquire or Reacquire.
type acquire = func(*pool.Pool, context.Context) (*pool.Lease, error)

// acquire waits for a lease on a pod.
func (c *call) acquire(ctx context.Context, p *pool.Pool, acquire acquire) (*pool.Lease, error) {
	_, span := c.config.Tracer.Start(ctx, "acquire pod")
	defer span.End()
	begin := time.Now()
	c.pool = p
	c.doing = func() string { return c.config.Pods.Explain(p) }
	lease, err := acquire(p, ctx)
	waited := time.Since(begin)
	if err == nil && !lease.Cold {
		c.clock.queueing += waited
	} else {
		c.clock.starting += waited
	}
	var full *pool.FullError
	switch {
	case err == nil:
		return lease, nil
	case errors.As(err, &full):
		return nil, &evaluation.BusyError{Running: p.Stats().Running, Waiting: full.Waiting}
	}
	return nil, c.startError(err)
}

// complete adds what only the function runner knows to the wrapper server's report.
func (c *call) complete(report *evaluationv1.Evaluation, pod string) {
	report.Image, report.Digest, report.Implementation = c.reference, c.digest, pod
	report.Evaluator = evaluationv1.Evaluator_EVALUATOR_POD
	if report.Timings == nil {
		report.Timings = &evaluationv1.Timings{}
	}
	t := report.GetTimings()
	t.Queue = durationpb.New(t.GetQueue().AsDuration() + c.clock.queueing)
	t.Start = durationpb.New(t.GetStart().AsDuration() + c.clock.resolving + c.clock.starting)
	explainRestrictions(report)
}

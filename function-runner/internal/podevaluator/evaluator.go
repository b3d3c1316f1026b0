// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package podevaluator evaluates functions in function pods. A call on a ready pod sends no request to the API server or a registry.
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
	"github.com/krmfn/krmfn/function-runner/internal/memo"
	"github.com/krmfn/krmfn/function-runner/internal/podmanager"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/internal/images/policy"
	"github.com/krmfn/krmfn/internal/images/registry"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// pauses are the delays before the second and later attempts to send a call that a pod has rejected. The pod gets no calls until it has
// proved that it serves, so that the next attempt uses another pod or waits. A call that a busy pod has sent back does not count as an
// attempt: it waits in the pool's queue until its deadline.
var pauses = []time.Duration{
	time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond,
}

// Resolver resolves references to their current digests. A cached digest needs no request.
type Resolver interface {
	Resolve(ctx context.Context, reference string) (digest string, err error)
}

// Config configures an evaluator.
type Config struct {
	// Reference returns the reference that pods pull for an image in a call.
	Reference func(image string) (string, error)
	Resolver  Resolver
	Pods      *podmanager.Manager
	// MaxTime returns the maximum duration of an evaluation by the function's resolved reference. 0 means no limit.
	MaxTime func(reference string) time.Duration
	// Memo caches the results of deterministic functions. Nil disables the result cache. Deterministic reports whether a function is
	// deterministic, by its resolved reference and digest, and whether this is known. It must not block.
	Memo          *memo.Cache
	Deterministic func(reference, digest string) (deterministic, known bool)
	Tracer        trace.Tracer
	// Meter creates krm_function_retries (image), the number of calls that were sent again because a pod had not started them.
	Meter metric.Meter
}

// Evaluator evaluates functions in pods. It implements evaluation.Evaluator.
type Evaluator struct {
	config  Config
	retries metric.Int64Counter
}

// New returns an evaluator. It fails if a metric cannot be registered.
func New(c Config) (*Evaluator, error) {
	retries, err := c.Meter.Int64Counter("krm_function_retries", metric.WithDescription("Calls that a function pod has not begun with and that were sent again."))
	return &Evaluator{config: c, retries: retries}, err
}

// Evaluate evaluates the function of the request's image in one of its pods. Errors other than the cause of ctx:
// *evaluation.NotFoundError for an empty image, *evaluation.StartError, *evaluation.BusyError and *endpoint.LostError.
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

// isOver reports whether ctx has ended. The pod may report an exceeded deadline slightly before ctx ends, so isOver waits for ctx then.
func isOver(ctx context.Context) bool {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}

// call is the state of one evaluation.
type call struct {
	*Evaluator
	reference, digest string
	clock             *clock
	// pool is the pool of the last attempt.
	pool *pool.Pool
	// doing describes what the call is waiting for. It is part of the error at the call's deadline.
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

// evaluateCached returns the cached result of a pool, or runs the function and caches the result.
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

// errSuperseded prevents that the result cache stores a result of another pool than the one in the cache key, which happens when settings
// change during the call. The caller still gets the result.
var errSuperseded = errors.New("the pool was superseded during the call")

// ranIn reports whether the last attempt used this pool.
func (c *call) ranIn(p *pool.Pool) bool { return c.pool == p }

// run runs the function in a pod. It tries other pods if a pod has not started the call.
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

// pause waits for d, with a jitter of a quarter, and returns false if ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d*3/4 + rand.N(d/2)): //nolint:gosec // G404: not a secret
		return true
	}
}

// resolve resolves the image to a digest.
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

// startError returns the error of a call that gets no pod.
func (c *call) startError(err error) error {
	return &evaluation.StartError{Image: c.reference, Err: err, Rejected: isRejected(err)}
}

// isRejected reports whether the image in the call is the cause of the error, rather than the registry or the cluster.
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

// acquire is the type of pool.Pool.Acquire and Reacquire.
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

// complete adds the function runner's data to the wrapper server's report.
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

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podevaluator

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/internal/server/logging"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
)

const (
	// warmers is the maximum number of functions that are looked up at the same time for warm-up.
	warmers = 64
	// preparing is the maximum number of concurrent preparations. Further images get their pods with their first calls.
	preparing = 64
	// prepareTimeout is the timeout of one preparation.
	prepareTimeout = 30 * time.Second
	// glance is the maximum time that Prepare waits for an immediate result.
	glance = 50 * time.Millisecond
)

// WarmUp lists the functions that need pods before their calls, by their references.
type WarmUp struct {
	// AtStart returns the functions that need a pod at start. Always returns the functions that need their minimum number of pods at all
	// times.
	AtStart, Always func() []string
	// Interval is the interval at which Run warms up the functions of Always.
	Interval time.Duration
	Log      *slog.Logger
}

// Warmer creates pods before calls need them. Its methods are safe for concurrent use.
type Warmer struct {
	evaluator *Evaluator
	warmUp    WarmUp
	// more wakes Run when wanted has changed.
	more chan struct{}
	// preparations may outlast the calls of Prepare that started them. They end when life ends.
	preparations errgroup.Group
	life         context.Context //nolint:containedctx // see above
	stop         context.CancelFunc

	// mu guards the following fields, and prevents that a preparation starts after life has ended.
	mu     sync.Mutex
	logged map[string]logging.Once
	wanted []string
}

// NewWarmer returns a warmer, which the caller must close. The warmer uses the values of ctx, but outlives its cancellation.
func NewWarmer(ctx context.Context, e *Evaluator, warmUp WarmUp) *Warmer {
	w := &Warmer{evaluator: e, warmUp: warmUp, more: make(chan struct{}, 1), logged: map[string]logging.Once{}}
	w.life, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	w.preparations.SetLimit(preparing)
	return w
}

// Close cancels the preparations and waits for them.
func (w *Warmer) Close() {
	w.mu.Lock()
	w.stop()
	w.mu.Unlock()
	_ = w.preparations.Wait() // no preparation returns an error
}

// Want makes Run warm up further functions, by their references. It does not block.
func (w *Warmer) Want(references []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wanted = append(w.wanted, references...)
	slices.Sort(w.wanted)
	w.wanted = slices.Compact(w.wanted)
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// take returns the wanted references and clears them.
func (w *Warmer) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	wanted := w.wanted
	w.wanted = nil
	return wanted
}

// Run warms up functions until ctx ends, and returns when all warm-ups have ended.
func (w *Warmer) Run(ctx context.Context) {
	select {
	case <-w.evaluator.config.Pods.Synced():
	case <-ctx.Done():
		return
	}
	w.warm(ctx, w.warmUp.AtStart())
	ticker := time.NewTicker(w.warmUp.Interval)
	defer ticker.Stop()
	for {
		w.warm(ctx, w.warmUp.Always())
		w.warm(ctx, w.take())
		select {
		case <-ticker.C:
		case <-w.more:
		case <-ctx.Done():
			return
		}
	}
}

func (w *Warmer) warm(ctx context.Context, references []string) {
	var group errgroup.Group
	group.SetLimit(warmers)
	for _, reference := range references {
		group.Go(func() error {
			p, err := w.evaluator.pool(ctx, reference)
			if err == nil {
				p.WarmSoon(ctx)
				p.Done()
			}
			w.report(reference, err)
			return nil
		})
	}
	_ = group.Wait() // no warm-up returns an error
}

// report logs why a function was not warmed up, once for each reason.
func (w *Warmer) report(reference string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	logged := w.logged[reference]
	if logged.New(err) {
		w.warmUp.Log.Warn("function not warmed up", "image", reference, "err", err)
	}
	w.logged[reference] = logged
}

// Prepare starts a pod for an image that has none. It waits only for an immediate result, and not for the pod.
func (w *Warmer) Prepare(ctx context.Context, name string) *evaluatorv1.PreparedFunction {
	prepared := &evaluatorv1.PreparedFunction{State: evaluatorv1.PrepareState_PREPARE_STATE_STARTING, Evaluator: evaluationv1.Evaluator_EVALUATOR_POD}
	failed := func(err error) *evaluatorv1.PreparedFunction {
		prepared.State, prepared.Message = evaluatorv1.PrepareState_PREPARE_STATE_FAILED, err.Error()
		return prepared
	}
	reference, err := w.evaluator.config.Reference(name)
	if err != nil {
		return failed(err)
	}
	prepared.ResolvedImage, prepared.Message = reference, "its function pod is being made"
	ended := make(chan preparation, 1)
	if !w.begin(reference, ended) { //nolint:contextcheck // it goes on after who asked for it
		prepared.Message = "many images are being prepared, this one will be with its first call"
		return prepared
	}
	select {
	case p := <-ended:
		if p.err != nil {
			return failed(p.err)
		}
		if p.ready {
			prepared.State, prepared.Message = evaluatorv1.PrepareState_PREPARE_STATE_READY, ""
		}
	case <-time.After(glance):
	case <-ctx.Done():
	}
	return prepared
}

// preparation is the result of a preparation.
type preparation struct {
	ready bool
	err   error
}

// begin starts to prepare an image. It returns false if too many preparations are running, or the warmer is closed.
func (w *Warmer) begin(reference string, ended chan<- preparation) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.life.Err() == nil && w.preparations.TryGo(func() error {
		ctx, cancel := context.WithTimeout(w.life, prepareTimeout)
		defer cancel()
		p, err := w.evaluator.pool(ctx, reference)
		ready := false
		if err == nil {
			defer p.Done()
			p.Warm()
			ready = p.Stats().Ready > 0
		}
		ended <- preparation{ready, err}
		return nil
	})
}

// pool returns the pool of a function by its resolved reference. The caller must call Done on the pool.
func (e *Evaluator) pool(ctx context.Context, reference string) (*pool.Pool, error) {
	select {
	case <-e.config.Pods.Synced():
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	digest, err := e.config.Resolver.Resolve(ctx, reference)
	if err != nil {
		return nil, err
	}
	return e.config.Pods.Pool(reference, digest), nil //nolint:contextcheck // pods outlive the calls that want them
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podevaluator

import (
	"context"
	"sync"
	"time"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
)

const (
	// preparing is how many images are prepared at once. What is more than that the calls themselves make ready.
	preparing = 64
	// prepareTimeout is how long a registry may take.
	prepareTimeout = 30 * time.Second
	// glance is how long is waited to see whether an image can be had at all.
	glance = 50 * time.Millisecond
)

// Preparer makes pods for calls that are about to come.
type Preparer struct {
	evaluator *Evaluator
	places    chan struct{}
	life      context.Context //nolint:containedctx // goes on after who asked for it
	stop      context.CancelFunc

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
}

// NewPreparer returns a preparer, which the caller closes. It keeps the values of ctx, not its end.
func NewPreparer(ctx context.Context, e *Evaluator) *Preparer {
	p := &Preparer{evaluator: e, places: make(chan struct{}, preparing)}
	p.life, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	return p
}

// Prepare starts a pod for an image that has none. It waits only long enough to report an immediate failure, not for the pod.
func (p *Preparer) Prepare(ctx context.Context, name string) *evaluatorv1.PreparedFunction {
	prepared := &evaluatorv1.PreparedFunction{State: evaluatorv1.PrepareState_PREPARE_STATE_STARTING, Evaluator: evaluationv1.Evaluator_EVALUATOR_POD}
	reference, err := p.evaluator.config.Reference(name)
	if err != nil {
		prepared.State, prepared.Message = evaluatorv1.PrepareState_PREPARE_STATE_FAILED, err.Error()
		return prepared
	}
	prepared.ResolvedImage = reference
	done := p.begin(reference) //nolint:contextcheck // it goes on after who asked for it
	if done == nil {
		prepared.Message = "many images are being prepared, this one will be with its first call"
		return prepared
	}
	select {
	case result := <-done:
		switch {
		case result.err != nil:
			prepared.State, prepared.Message = evaluatorv1.PrepareState_PREPARE_STATE_FAILED, result.err.Error()
		case result.ready:
			prepared.State = evaluatorv1.PrepareState_PREPARE_STATE_READY
		}
	case <-time.After(glance):
	case <-ctx.Done():
	}
	if prepared.GetState() == evaluatorv1.PrepareState_PREPARE_STATE_STARTING {
		prepared.Message = "its function pod is being made"
	}
	return prepared
}

type preparation struct {
	ready bool
	err   error
}

// begin starts to prepare; nil when too much is being prepared already.
func (p *Preparer) begin(reference string) <-chan preparation {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	select {
	case p.places <- struct{}{}:
	default:
		return nil
	}
	done := make(chan preparation, 1)
	p.work.Go(func() {
		defer func() { <-p.places }()
		ctx, cancel := context.WithTimeout(p.life, prepareTimeout)
		defer cancel()
		ready, err := p.evaluator.warm(ctx, reference)
		done <- preparation{ready, err}
	})
	return done
}

// Close ends what is being prepared and waits for it.
func (p *Preparer) Close() {
	p.stop()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.work.Wait()
}

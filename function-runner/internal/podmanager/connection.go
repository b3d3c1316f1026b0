// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/function-runner/internal/podcertificates"
	"github.com/krmfn/krmfn/services/evaluation/wrapperapi"
)

const (
	// healAfter is how long a pod may not answer at its Service before that is made anew, where somebody has deleted it. It is twice
	// as long each time, up to longestPatience.
	healAfter       = 2 * time.Second
	longestPatience = time.Minute
)

// connect keeps the connection to a pod that has an address, until the pod has gone or has another address. One that the kubelet
// holds for ready when it is first seen is connected to by its first call. The manager's lock is held.
func (p *Pool) connect(mem *member, assumed bool) {
	if mem.disconnect != nil {
		return
	}
	mem.addressed = time.Now()
	var ctx context.Context
	ctx, mem.disconnect = context.WithCancel(p.m.life)
	pod := mem.object
	p.m.spawn(func() {
		for patience := healAfter; ctx.Err() == nil; patience = min(2*patience, longestPatience) {
			if p.converse(ctx, mem, pod, assumed, patience) {
				return
			}
			assumed = false
		}
	})
}

// converse keeps one connection, until another must be made or ctx ends, which it tells.
func (p *Pool) converse(ctx context.Context, mem *member, pod *corev1.Pod, assumed bool, patience time.Duration) (ended bool) {
	target := wrapperapi.Target{PodUID: string(pod.UID), Function: wrapperapi.FunctionName(p.id.Image, p.id.Digest)}
	options := p.m.config.Endpoint
	options.Advice = p.m.config.Templates.wrapperAdvice()
	if trusted := podcertificates.Trusted(pod); trusted != nil && p.m.config.Certificates != nil {
		options.Credentials = p.m.config.Certificates.Credentials(trusted)
	}
	e := endpoint.New(ctx, pod.Name, p.m.config.Frontend.target(pod), target, options)
	defer e.Close() //nolint:errcheck // nothing is lost with it
	for {
		if !assumed {
			if err := p.awaitReady(ctx, mem, pod, e, patience); err != nil {
				return ctx.Err() != nil
			}
		}
		assumed = false
		p.answered(mem, e)
		loss := e.Lost(ctx)
		if loss == nil {
			return true
		}
		p.lost(mem, loss)
	}
}

// awaitReady returns when the wrapper server serves. The error is that ctx has ended or that another connection must be made: this
// one leads to another server, or to a Service that was gone and is made again.
func (p *Pool) awaitReady(ctx context.Context, mem *member, pod *corev1.Pod, e *endpoint.Endpoint, patience time.Duration) error {
	if !p.m.config.Frontend.byService(pod) {
		return e.Ready(ctx)
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := e.Ready(waiting)
	if err != nil && ctx.Err() == nil && !errors.Is(err, endpoint.ErrWrongPeer) {
		p.m.healService(ctx, mem, pod)
	}
	return err
}

// answered notes that a pod serves.
func (p *Pool) answered(mem *member, e *endpoint.Endpoint) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	first := !mem.Served
	mem.endpoint = e
	if p.apply(mem, lifecycle.Answered, nil) && first {
		p.m.config.Log.Info("function pod ready", "pod", mem.name(), "image", p.id.Image, "node", mem.object.Spec.NodeName, "after", time.Since(mem.seen))
		p.m.metrics.started(p.m.life, p.id.Image, mem)
	}
}

// lost notes that a pod must show anew that it serves.
func (p *Pool) lost(mem *member, loss *endpoint.Loss) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	if loss.Certain {
		p.apply(mem, lifecycle.Lost, loss.Reason)
	} else {
		p.apply(mem, lifecycle.Suspected, loss.Reason)
	}
}

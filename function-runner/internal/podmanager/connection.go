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
	"github.com/krmfn/krmfn/internal/wrapperapi"
)

const (
	// firstPatience is the time without a response from a pod at its Service after which the manager creates the Service again, in case
	// it was deleted. The time doubles with each attempt, up to longestPatience.
	firstPatience   = 2 * time.Second
	longestPatience = time.Minute
)

// connection is the connection to the wrapper server of a pod at one address.
type connection struct {
	address string
	// close closes the connection after its running calls have ended.
	close context.CancelFunc
}

// connect connects to a pod that has an address, until the pod gets another address, is deleted, or fails. If assumed is true, it takes
// the pod as ready without a health check, so that the first call opens the connection.
func (w *workload) connect(mem *member, assumed bool) {
	if mem.connection != nil {
		return
	}
	mem.addressed = time.Now()
	ctx, cancel := context.WithCancel(w.m.life)
	c := &connection{address: mem.object.Status.PodIP, close: cancel}
	mem.connection = c
	pod := mem.object
	w.m.spawn(func() {
		for patience := firstPatience; ctx.Err() == nil; patience = min(2*patience, longestPatience) {
			if w.converse(ctx, mem, c, pod, assumed, patience) {
				return
			}
			assumed = false
		}
	})
}

// disconnect closes the connection to a pod. The caller must move the pod out of the ready state.
func (mem *member) disconnect() {
	if mem.connection != nil {
		mem.connection.close()
		mem.connection = nil
	}
}

// converse maintains one connection until another one is needed or ctx ends, and reports whether ctx has ended.
func (w *workload) converse(ctx context.Context, mem *member, c *connection, pod *corev1.Pod, assumed bool, patience time.Duration) (ended bool) {
	target := wrapperapi.Target{PodUID: string(pod.UID), Function: wrapperapi.FunctionName(w.ID.Image, w.ID.Digest)}
	options := w.m.config.Endpoint
	options.Advice = w.m.config.Templates.wrapperAdvice()
	if trusted := podcertificates.Trusted(pod); trusted != nil && w.m.config.Certificates != nil {
		options.Credentials = w.m.config.Certificates.Credentials(trusted)
	}
	e := endpoint.New(ctx, pod.Name, w.m.config.Frontend.target(pod), target, options)
	defer e.Close() //nolint:errcheck // nothing is lost with it
	for {
		if !assumed {
			if err := w.awaitReady(ctx, mem, pod, e, patience); err != nil {
				return ctx.Err() != nil
			}
		}
		assumed = false
		w.serves(mem, c, e)
		loss := e.Lost(ctx)
		if loss == nil {
			return true
		}
		w.lost(mem, c, loss)
	}
}

// awaitReady blocks until the wrapper server serves. It fails if ctx ends, or if a new connection is needed because this one leads to
// another server, or to a Service that was deleted and created again.
func (w *workload) awaitReady(ctx context.Context, mem *member, pod *corev1.Pod, e *endpoint.Endpoint, patience time.Duration) error {
	if !w.m.config.Frontend.byService(pod) {
		return e.Ready(ctx)
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := e.Ready(waiting)
	if err != nil && ctx.Err() == nil && !errors.Is(err, endpoint.ErrWrongPeer) {
		w.m.healService(ctx, mem, pod)
	}
	return err
}

// serves records that a pod's wrapper server serves at an endpoint, unless the pod has another connection meanwhile.
func (w *workload) serves(mem *member, c *connection, e *endpoint.Endpoint) {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	if mem.connection != c || !w.answered(mem, e) {
		return
	}
	w.m.config.Log.Info("function pod ready", "pod", mem.name(), "image", w.ID.Image, "node", mem.object.Spec.NodeName, "after", time.Since(mem.seen))
	w.m.metrics.started(w.m.life, w.ID.Image, mem)
}

// lost records that a pod must prove again that it serves.
func (w *workload) lost(mem *member, c *connection, loss *endpoint.Loss) {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	if mem.connection != c {
		return
	}
	if loss.Certain {
		w.apply(mem, lifecycle.Lost, loss.Reason)
	} else {
		w.apply(mem, lifecycle.Suspected, loss.Reason)
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/wrapperapi"
)

// Lease is a call's right to use a pod. The call gives it back once, by Release.
type Lease struct {
	// Endpoint is where the call is sent.
	Endpoint *endpoint.Endpoint
	Pod      *Pod
	// Cold says that the call came before the pod was ready.
	Cold bool
}

// Evaluate sends the call to the leased pod. The pool learns the pod's load and its capacity. A pod that rejects the call although it
// has room must show that it serves before it gets other calls. Errors are those of endpoint.Endpoint.
func (l *Lease) Evaluate(ctx context.Context, list []byte) (evaluation.Response, error) {
	p, begin := l.Pod.pool, time.Now()
	resp, err := l.Endpoint.Evaluate(ctx, p.ID.Image, list, func(load wrapperapi.Load) { l.Report(load.Running + load.Waiting) })
	notRun, rejected := errors.AsType[*endpoint.NotRunError](err)
	switch {
	case err == nil:
		p.latencies.add(time.Since(begin))
	case rejected && notRun.Busy:
		l.Busy()
	case rejected:
		l.Endpoint.Suspect(err)
	}
	return resp, err
}

// Report says how many calls of all callers, with this one, run and wait in the pod, as its wrapper server tells. The calls of other
// replicas count for a few seconds when pods are chosen and requested. It may be called any number of times, at any moment.
func (l *Lease) Report(load int) {
	pod := l.Pod
	pod.pool.mu.Lock()
	defer pod.pool.mu.Unlock()
	pod.external, pod.reported = float64(max(0, load-pod.running)), time.Now()
}

// Busy says that the pod had no room for the call, which has not run. Release gives the lease back.
func (l *Lease) Busy() {
	pod := l.Pod
	pod.pool.mu.Lock()
	defer pod.pool.mu.Unlock()
	// This call still counts as running.
	pod.running--
	pod.pool.saturated(pod)
	pod.running++
}

// Release gives the lease back, and with it the room in the pod to the call that has waited longest.
func (l *Lease) Release() {
	pod := l.Pod
	p := pod.pool
	p.mu.Lock()
	defer p.unlock()
	pod.running--
	now := time.Now()
	pod.used, pod.called = now, now
	p.dispatch()
}

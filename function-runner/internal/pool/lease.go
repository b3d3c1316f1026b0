// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/internal/wrapperapi"
	"github.com/krmfn/krmfn/services/evaluation"
)

// Lease is a call's right to use a pod. The call must release it exactly once.
type Lease struct {
	// Endpoint is the endpoint of the pod.
	Endpoint *endpoint.Endpoint
	Pod      *Pod
	// Cold reports that the call has waited for a pod that became ready after the call had arrived.
	Cold bool
}

// Evaluate sends the call to the leased pod, and updates the pod's load and capacity. A pod that rejects the call for another reason than
// lack of capacity must prove that it serves before it gets other calls. It returns the errors of endpoint.Endpoint.
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

// Report sets the number of calls of all replicas, including this one, that run and wait in the pod, from a report of its wrapper server.
// The calls of other replicas affect the choice and the creation of pods for a few seconds. Report is safe for concurrent use.
func (l *Lease) Report(load int) {
	pod := l.Pod
	pod.pool.mu.Lock()
	defer pod.pool.mu.Unlock()
	pod.external, pod.reported = float64(max(0, load-pod.running)), time.Now()
}

// Busy records that the pod had no capacity for the call, which has not run. The caller must still call Release.
func (l *Lease) Busy() {
	pod := l.Pod
	pod.pool.mu.Lock()
	defer pod.pool.mu.Unlock()
	// Exclude this call, which still counts as running.
	pod.running--
	pod.pool.saturated(pod)
	pod.running++
}

// Release releases the lease, and gives the freed capacity to the call that has waited longest.
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

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
)

// createPatience is the time for which the API server may reject a pod for a temporary reason, such as a webhook that does not respond,
// before the waiting callers get the reason.
const createPatience = 10 * time.Second

// maxCreating is the maximum number of requests to create pods for callers that a replica has in flight. The client sends 30 requests per
// second, for which 8 suffice while the API server takes a quarter of a second. Further requests wait in the manager, which drops them when
// it learns that another replica has created the pod. The client's rate limiter would send them all.
const maxCreating = 8

// requestPod creates a pod, and retries temporary failures. While a quota is exceeded, it preempts idle pods and waits for the pods of
// other pools. Callers get the latest failure at their deadlines.
func (m *Manager) requestPod(ctx context.Context, mem *member, pod *corev1.Pod) (*corev1.Pod, error) {
	pause, waiting := firstPreemptionRetry, false
	created, err := retried(ctx, func() (*corev1.Pod, error) {
		created, err := m.requestOnce(ctx, mem, pod)
		waiting = isOverQuota(err) && (m.preempt(ctx, mem, requests(pod)) || pause == firstPreemptionRetry)
		if ctx.Err() == nil {
			m.noteCreateError(mem, err, waiting)
		}
		if waiting {
			err = fmt.Errorf("%v: %w", err, &backoff.RetryAfterError{Duration: pause}) //nolint:errorlint // it is not the answer yet
			pause = 2 * preemptionRetryInterval
		}
		return created, err
	})
	if err != nil && waiting {
		// Other pools held the quota the whole time, but the next attempt may succeed.
		err = &ReplacedError{Err: err}
	}
	return created, err
}

// requestOnce sends a request to create a pod when fewer than maxCreating such requests of callers are in flight. If another replica has
// created the pod by then, requestOnce returns an AlreadyExists error without a request.
func (m *Manager) requestOnce(ctx context.Context, mem *member, pod *corev1.Pod) (*corev1.Pod, error) {
	send := func(c *Client) (*corev1.Pod, error) {
		return c.Pods.Create(ctx, pod, metav1.CreateOptions{FieldManager: fieldManager})
	}
	if c := mem.workload.client(); c != m.config.Client {
		// No caller waits, and Config.MaxWarmUps limits the requests.
		return send(c)
	}
	_, changed := mem.Status()
	select {
	case m.creating <- struct{}{}:
		defer func() { <-m.creating }()
	case <-changed:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if !mem.In(lifecycle.Requested) || !mem.workload.Has(mem.Pod) {
		return nil, apierrors.NewAlreadyExists(corev1.Resource("pods"), pod.Name)
	}
	return send(m.config.Client)
}

// noteCreateError records why a request for a pod failed, and logs each new reason. If the API server keeps rejecting the pod, the
// waiting callers get the reason after createPatience. They keep waiting if the API server does not respond, or if other pods hold the
// quota.
func (m *Manager) noteCreateError(mem *member, err error, waiting bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := mem.createErr
	if err == nil || apierrors.IsAlreadyExists(err) || !mem.In(lifecycle.Requested) {
		return
	}
	mem.createErr = fmt.Errorf("function pod %s cannot be created yet: %w", mem.name(), err)
	if before == nil || before.Error() != mem.createErr.Error() {
		m.config.Log.Warn("function pod cannot be created yet", "pod", mem.name(), "image", mem.workload.ID.Image, "err", err)
	}
	rejected := errors.As(err, new(apierrors.APIStatus)) && !waiting
	switch {
	case mem.Problem() != nil:
		mem.workload.SetProblem(mem.Pod, mem.createErr)
	case rejected && mem.rejectedSince.IsZero():
		mem.rejectedSince = time.Now()
		mem.after(createPatience, func() {
			if !mem.rejectedSince.IsZero() {
				mem.workload.SetProblem(mem.Pod, mem.createErr)
			}
		})
	case !rejected:
		mem.rejectedSince = time.Time{}
	}
}

// isOverQuota reports whether the API server rejected a pod because the namespace's quota is exhausted.
func isOverQuota(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

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

// requestPod creates a pod, and retries temporary failures. While a quota is exceeded, it preempts idle pods and waits for the pods of
// other pools. Callers get the latest failure at their deadlines.
func (m *Manager) requestPod(ctx context.Context, mem *member, pod *corev1.Pod) (*corev1.Pod, error) {
	pause, waiting := firstPreemptionRetry, false
	created, err := retried(ctx, func() (*corev1.Pod, error) {
		created, err := mem.workload.client().Pods.Create(ctx, pod, metav1.CreateOptions{FieldManager: fieldManager})
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

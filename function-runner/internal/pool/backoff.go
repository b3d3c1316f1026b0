// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

const (
	// firstPause is the pause after the first failure. It doubles with each further failure, up to longestPause.
	firstPause   = time.Second
	longestPause = 30 * time.Second
	// jitter is the maximum random extension of a pause, as a fraction.
	jitter = 0.1
)

// BackoffError reports that function pods have failed to start, and that the pool requests no pod during the backoff. The call was not
// sent.
type BackoffError struct {
	// Err is why the last pod failed.
	Err error
	// Until is when the next call can request a pod.
	Until time.Time
}

func (e *BackoffError) Error() string {
	return fmt.Sprintf("%v: the next attempt is in %.0f s", e.Err, math.Ceil(max(0, time.Until(e.Until).Seconds())))
}

// Unwrap returns why the last pod failed.
func (e *BackoffError) Unwrap() error { return e.Err }

// failure is the state of the backoff. The zero value means no failure. A pod that becomes ready resets it.
type failure struct {
	reason error
	pause  time.Duration
	// at is when the last attempt failed, and until is when the next one may begin.
	at, until time.Time
}

// lasts reports whether the backoff has not ended.
func (f *failure) lasts() bool { return f.pause > 0 && time.Now().Before(f.until) }

// remember records that a pod has failed before it was ready. Pods that were created before an earlier failure belong to the same
// attempt, and do not extend the backoff.
func (f *failure) remember(created time.Time, err error) {
	f.reason = err
	if f.pause > 0 && !created.After(f.at) {
		return
	}
	f.pause = min(max(firstPause, 2*f.pause), longestPause)
	f.at = time.Now()
	f.until = f.at.Add(f.pause + time.Duration(jitter*rand.Float64()*float64(f.pause))) //nolint:gosec // chance, not a secret
}

// mayRequest returns the maximum number of pods to request now. After a failure, the pool requests one pod at a time until a pod is
// ready.
func (p *Pool) mayRequest() int {
	allowed := 2*p.config.MaxPods + extraPods - len(p.pods)
	switch {
	case p.failure.pause == 0:
		return allowed
	case p.failure.lasts():
		return 0
	}
	return min(allowed, 1-p.count((*Pod).pending))
}

// hasFailed handles a failed pod. If the pod was never ready, hasFailed requests no other, because that would fail as well.
func (p *Pool) hasFailed(pod *Pod, reason error) {
	if pod.status.Served {
		p.settle(p.missing())
		return
	}
	if !retriable(reason) {
		p.failure.remember(pod.created, reason)
	}
	p.recall(min(p.waitedFor(), p.config.MaxPods-p.live()))
	if p.live() == 0 {
		p.reject(reason)
	}
	p.settle(0)
}

// retriable reports whether an error has a method Retry that returns true, which means that the next pod may start.
func retriable(err error) bool {
	var r interface{ Retry() bool }
	return errors.As(err, &r) && r.Retry()
}

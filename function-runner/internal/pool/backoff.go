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
	// firstPause follows the first failure. It doubles with each further one, up to longestPause.
	firstPause   = time.Second
	longestPause = 30 * time.Second
	// jitter is the fraction by which a pause may be longer.
	jitter = 0.1
)

// BackoffError reports that function pods have failed to start and that no other is created for a while. The call was not sent.
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

// failure is why pods fail to start, until one has started. The zero value is no failure.
type failure struct {
	reason error
	pause  time.Duration
	// at is when the last attempt failed, and until is when the next one may begin.
	at, until time.Time
}

// lasts reports whether no pod may be requested yet.
func (f *failure) lasts() bool { return f.pause > 0 && time.Now().Before(f.until) }

// remember notes that a pod has failed that was never ready. Pods that were created before an earlier failure belong to the same
// attempt.
func (f *failure) remember(created time.Time, err error) {
	f.reason = err
	if f.pause > 0 && !created.After(f.at) {
		return
	}
	f.pause = min(max(firstPause, 2*f.pause), longestPause)
	f.at = time.Now()
	f.until = f.at.Add(f.pause + time.Duration(jitter*rand.Float64()*float64(f.pause))) //nolint:gosec // chance, not a secret
}

// mayRequest returns how many pods may be requested now: any number if the last one started, otherwise one at a time.
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

// hasFailed goes on after a pod has failed. It requests no other, which would fail as well, unless the pod was ready once.
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

// retriable reports whether an error says, by a method Retry, that the next pod need not fail as well.
func retriable(err error) bool {
	var r interface{ Retry() bool }
	return errors.As(err, &r) && r.Retry()
}

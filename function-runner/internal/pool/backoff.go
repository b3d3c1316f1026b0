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
	// firstPause follows the first failure. Each further one makes it twice as long, up to longestPause.
	firstPause   = time.Second
	longestPause = 30 * time.Second
	// jitter is by how much of itself a pause may be longer.
	jitter = 0.1
)

// BackoffError says that pods of the function have failed to start and that no other is made for a while. The call has not run.
type BackoffError struct {
	// Err is why the last pod failed.
	Err error
	// Until is when a call may want a pod again.
	Until time.Time
}

func (e *BackoffError) Error() string {
	return fmt.Sprintf("%v: the next attempt is in %.0f s", e.Err, math.Ceil(max(0, time.Until(e.Until).Seconds())))
}

// Unwrap returns why the last pod failed.
func (e *BackoffError) Unwrap() error { return e.Err }

// failure is what is remembered of pods that failed to start, until one has started. The zero value remembers none.
type failure struct {
	reason error
	pause  time.Duration
	// at is when the last attempt failed, and until when there is no other.
	at, until time.Time
}

// lasts tells whether no pod may be wanted yet.
func (f *failure) lasts() bool { return f.pause > 0 && time.Now().Before(f.until) }

// remember notes that the pod that came at a time has failed before it ever served. Pods that came before an earlier failure
// belong to the same attempt.
func (f *failure) remember(came time.Time, err error) {
	f.reason = err
	if f.pause > 0 && !came.After(f.at) {
		return
	}
	f.pause = min(max(firstPause, 2*f.pause), longestPause)
	f.at = time.Now()
	f.until = f.at.Add(f.pause + time.Duration(jitter*rand.Float64()*float64(f.pause))) //nolint:gosec // chance, not a secret
}

// mayStart returns how many pods may be wanted now: any number if the last one started, or else one at a time.
func (p *Pool[P]) mayStart() int {
	switch {
	case p.failure.pause == 0:
		return math.MaxInt
	case p.failure.lasts():
		return 0
	}
	return max(0, 1-p.count(starting))
}

// failed goes on after a pod has failed. It makes no other, which would fail as well, over and over, unless the pod ran well once.
func (p *Pool[P]) failed(m *pod[P], err error) {
	if m.served {
		p.settle(p.missing())
		return
	}
	if !retriable(err) {
		p.failure.remember(m.came, err)
	}
	p.recall(min(p.waitedFor(), p.config.MaxPods-p.live()))
	if p.live() == 0 {
		p.refuse(err)
	}
	p.settle(0)
}

// retriable tells whether an error says, by a method Retry, that pods are made differently from now on, so that it says nothing of
// the next one.
func retriable(err error) bool {
	var r interface{ Retry() bool }
	return errors.As(err, &r) && r.Retry()
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// loop is a running Loop. attempts are the times of its attempts since the start, failures are the reported errors, and err is the error
// of the next attempts.
type loop struct {
	changed chan struct{}

	mu       sync.Mutex
	attempts []time.Duration
	failures []string
	err      error
}

// start runs a loop until the test ends.
func start(t *testing.T, interval time.Duration, err error) *loop {
	t.Helper()
	begin, l := time.Now(), &loop{err: err, changed: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Loop{
			Attempt: func(context.Context) error {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.attempts = append(l.attempts, time.Since(begin))
				return l.err
			},
			Interval: interval, Changed: l.changed,
			Failed: func(err error) {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.failures = append(l.failures, err.Error())
			},
		}.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return l
}

func (l *loop) check(t *testing.T, want ...time.Duration) {
	t.Helper()
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if diff := cmp.Diff(want, l.attempts); diff != "" {
		t.Errorf("times of attempts (-want +got):\n%s", diff)
	}
}

func TestLoopRepeatsAttemptsAtTheInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := start(t, time.Minute, nil)
		time.Sleep(130 * time.Second)
		l.check(t, 0, time.Minute, 2*time.Minute)
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.failures) > 0 {
			t.Errorf("failures = %q, want none", l.failures)
		}
	})
}

// A change causes an attempt, but not earlier than MinInterval after the previous attempt.
func TestChangeCausesAnAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := start(t, time.Hour, nil)
		synctest.Wait()
		l.changed <- struct{}{}
		synctest.Wait()
		l.check(t, 0)
		time.Sleep(MinInterval)
		l.check(t, 0, MinInterval)
		time.Sleep(time.Minute)
		l.changed <- struct{}{}
		l.check(t, 0, MinInterval, MinInterval+time.Minute)
	})
}

// Failed attempts are repeated with backoff, never later than the interval. An error is reported once, and again after a success.
func TestErrorsAreRetriedWithBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := start(t, 10*time.Minute, errors.New("down"))
		time.Sleep(time.Hour)
		synctest.Wait()
		l.mu.Lock()
		// About 1, 2, 4, ..., 64 s, then every 2 minutes.
		if n := len(l.attempts); n < 27 || n > 46 {
			t.Errorf("attempts within an hour = %d, want about 35", n)
		}
		for i, previous := 1, time.Duration(0); i < len(l.attempts); i++ {
			if pause := l.attempts[i] - previous; pause < MinInterval || pause > maxBackoff+maxBackoff/5 {
				t.Errorf("pause before attempt %d = %v, want between %v and %v", i, pause, MinInterval, maxBackoff+maxBackoff/5)
			}
			previous = l.attempts[i]
		}
		l.mu.Unlock()
		for _, err := range []error{nil, errors.New("down"), errors.New("gone")} {
			l.mu.Lock()
			l.err = err
			l.mu.Unlock()
			time.Sleep(10*time.Minute + time.Second)
			synctest.Wait()
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if diff := cmp.Diff([]string{"down", "down", "gone"}, l.failures); diff != "" {
			t.Errorf("failures (-want +got):\n%s", diff)
		}
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/krmfn/krmfn/services/evaluation"
)

func TestMaximumTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := WithMaximumTime(evaluation.Func(func(ctx context.Context, _ evaluation.Request) (evaluation.Response, error) {
			<-ctx.Done()
			return evaluation.Response{}, context.Cause(ctx)
		}), time.Minute)
		begin := time.Now()
		_, err := e.Evaluate(t.Context(), evaluation.Request{})
		if !errors.As(err, new(*evaluation.TimeoutError)) || time.Since(begin) != time.Minute {
			t.Errorf("Evaluate() = %v after %v, want a TimeoutError after 1m", err, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := e.Evaluate(ctx, evaluation.Request{}); !errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*evaluation.TimeoutError)) {
			t.Errorf("Evaluate() with a shorter deadline = %v, want DeadlineExceeded", err)
		}
	})
}

func TestInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := InTime(evaluation.Func(func(ctx context.Context, _ evaluation.Request) (evaluation.Response, error) {
			<-ctx.Done()
			return evaluation.Response{}, context.Cause(ctx)
		}))
		for given, want := range map[time.Duration]time.Duration{time.Second: 950 * time.Millisecond, time.Minute: time.Minute - 100*time.Millisecond} {
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), given)
			_, err := e.Evaluate(ctx, evaluation.Request{})
			if took := time.Since(begin); took != want || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("deadline in %v: Evaluate() returned after %v with error %v, want after %v", given, took, err, want)
			}
			cancel()
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := e.Evaluate(ctx, evaluation.Request{}); !errors.Is(err, context.Canceled) {
			t.Errorf("Evaluate() = %v, want Canceled", err)
		}
	})
}

func TestOutOfTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		early := fmt.Errorf("runner: %w", context.DeadlineExceeded)
		if OutOfTime(ctx, early) || OutOfTime(t.Context(), early) {
			t.Error("OutOfTime() = true before the caller's deadline, want false")
		}
		time.Sleep(time.Second - maxMargin)
		if !OutOfTime(ctx, early) {
			t.Error("OutOfTime() = false within maxMargin of the deadline, want true")
		}
		if OutOfTime(ctx, errors.New("failed")) || OutOfTime(ctx, nil) {
			t.Error("OutOfTime() = true for another error or nil, want false")
		}
		<-ctx.Done()
		if !OutOfTime(ctx, errors.New("failed")) {
			t.Error("OutOfTime() = false after the deadline, want true")
		}
	})
}

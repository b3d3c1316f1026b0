// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// calls has two seconds of warm-up and a duration of ten seconds.
var calls = Calls{WarmUp: 2 * time.Second, Duration: 10 * time.Second, Timeout: 5 * time.Second, Code: func(err error) string { return err.Error() }}

func open(maxInFlight int) Open {
	return Open{Calls: calls, Rate: 10, MaxInFlight: maxInFlight, sleep: time.Sleep}
}

// about reports whether a latency is equal to another one within the precision of histograms.
func about(got, want time.Duration) bool { return (got - want).Abs() <= want/500 }

func TestOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int64
		result, err := open(10).Run(t.Context(), func(context.Context) error {
			made.Add(1)
			time.Sleep(250 * time.Millisecond)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := []int64{made.Load(), result.Succeeded(), result.Lost()}; !cmp.Equal(got, []int64{120, 100, 0}) {
			t.Errorf("calls made, succeeded and lost = %v, want [120 100 0]", got)
		}
		if got := result.At(100); !about(got, 250*time.Millisecond) || result.Throughput() != 10 {
			t.Errorf("maximum latency = %v, throughput = %v calls/s, want 250ms and 10 calls/s", got, result.Throughput())
		}
	})
}

func TestStallDelaysAllDueCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		stall, over := begin.Add(5*time.Second), begin.Add(9*time.Second)
		result, err := open(100).Run(t.Context(), func(context.Context) error {
			if now := time.Now(); !now.Before(stall) && now.Before(over) {
				time.Sleep(time.Until(over))
			}
			time.Sleep(time.Millisecond)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		// Of the 100 counted calls, 40 were due during the stall. They waited for 4 s, 3.9 s, and so on.
		for percentile, want := range map[float64]time.Duration{60: time.Millisecond, 80: 2001 * time.Millisecond, 100: 4001 * time.Millisecond} {
			if got := result.At(percentile); !about(got, want) {
				t.Errorf("At(%v) = %v, want %v", percentile, got, want)
			}
		}
	})
}

func TestUnsentCallsAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		result, err := open(3).Run(t.Context(), func(ctx context.Context) error {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			<-ctx.Done()
			return ctx.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		// The load makes three calls every five seconds. The first three are warm-up; the calls at 5 s and 10 s count.
		failed := map[string]int64{context.DeadlineExceeded.Error(): 6}
		if most.Load() != 3 || result.Unsent != 94 || result.Lost() != 100 || !cmp.Equal(failed, result.Failed) {
			t.Errorf("concurrent calls = %d, unsent = %d, failed = %v, want 3, 94 and 6 timeouts", most.Load(), result.Unsent, result.Failed)
		}
	})
}

func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begin := time.Now()
		_, err := open(1).Run(ctx, func(context.Context) error { return nil })
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 3*time.Second {
			t.Errorf("Run() error = %v after %v, want a deadline error after 3s", err, time.Since(begin))
		}
	})
}

func TestClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int64
		result, err := Closed{Calls: calls, Callers: 4}.Run(t.Context(), func(context.Context) error {
			time.Sleep(190 * time.Millisecond)
			if made.Add(1)%4 == 0 {
				return errors.New("refused")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		// In each round of about 190 ms, three calls succeed and one fails.
		if got := result.Throughput(); got < 15 || got > 16 {
			t.Errorf("Throughput() = %v calls/s, want 15 to 16", got)
		}
		if failed := result.Failed["refused"]; failed < 50 || failed > 53 || result.Unsent != 0 {
			t.Errorf("failed = %v, unsent = %d, want 50 to 53 refused and 0", result.Failed, result.Unsent)
		}
		if got := result.At(50); !about(got, 190*time.Millisecond) {
			t.Errorf("At(50) = %v, want 190ms", got)
		}
	})
}

func TestAdd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sum := New()
		for _, took := range []time.Duration{time.Millisecond, 250 * time.Millisecond} {
			result, err := open(1).Run(t.Context(), func(context.Context) error {
				time.Sleep(took)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			sum.Add(result)
		}
		// In the second run, two calls cannot be sent while one call runs.
		if sum.Elapsed != 20*time.Second || sum.Succeeded() < 133 || sum.Succeeded()+sum.Unsent != 200 {
			t.Errorf("succeeded = %d, unsent = %d, elapsed = %v, want 200 calls in total in 20s", sum.Succeeded(), sum.Unsent, sum.Elapsed)
		}
		if !about(sum.At(50), time.Millisecond) || !about(sum.At(100), 250*time.Millisecond) {
			t.Errorf("median = %v, maximum = %v, want 1ms and 250ms", sum.At(50), sum.At(100))
		}
	})
}

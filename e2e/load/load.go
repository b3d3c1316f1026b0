// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package load makes calls and measures them. Open makes calls at a constant rate, and Closed makes calls as fast as a number of callers
// can; both measure latencies. UntilStopped makes calls until it is stopped, and collects errors.
package load

import (
	"context"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Call makes one call and returns when it has ended. It must be safe for concurrent use.
type Call func(ctx context.Context) error

// Calls holds the settings that Open and Closed have in common.
type Calls struct {
	// WarmUp is the time before calls count. Duration is the time in which calls count.
	WarmUp, Duration time.Duration
	// Timeout is the deadline of a call, from when it is made.
	Timeout time.Duration
	// Code returns the name under which errors are counted.
	Code func(error) string
}

const (
	// longest is the greatest measurable latency. Greater latencies are recorded as longest.
	longest = 10 * time.Minute
	// digits is the number of significant digits of recorded latencies.
	digits = 3
)

// Result is the result of a measurement. It must not be used before the load has ended.
type Result struct {
	// Latency holds the latencies of successful calls in microseconds.
	Latency *hdrhistogram.Histogram
	// Failed holds the number of failed calls by code.
	Failed map[string]int64
	// Unsent is the number of calls that were due but not made, because MaxInFlight calls were running.
	Unsent int64
	// Elapsed is the time in which calls counted.
	Elapsed time.Duration
}

// Add adds the calls of another result, as if both had been measured one after the other.
func (r *Result) Add(other *Result) {
	r.Latency.Merge(other.Latency)
	for code, count := range other.Failed {
		r.Failed[code] += count
	}
	r.Unsent += other.Unsent
	r.Elapsed += other.Elapsed
}

// Succeeded returns the number of successful calls.
func (r *Result) Succeeded() int64 { return r.Latency.TotalCount() }

// Lost returns the number of calls that failed or were not made.
func (r *Result) Lost() int64 {
	lost := r.Unsent
	for _, count := range r.Failed {
		lost += count
	}
	return lost
}

// Throughput returns the number of successful calls per second.
func (r *Result) Throughput() float64 { return float64(r.Succeeded()) / r.Elapsed.Seconds() }

// At returns a percentile of the latencies of successful calls. At(100) is the maximum.
func (r *Result) At(percentile float64) time.Duration {
	return time.Duration(r.Latency.ValueAtPercentile(percentile)) * time.Microsecond
}

// New returns an empty result, for use with Add.
func New() *Result {
	return &Result{Latency: hdrhistogram.New(1, longest.Microseconds(), digits), Failed: map[string]int64{}}
}

// recorder fills a result. It is safe for concurrent use.
type recorder struct {
	calls  Calls
	mu     sync.Mutex
	result *Result
}

func newRecorder(calls Calls) *recorder {
	result := New()
	result.Elapsed = calls.Duration
	return &recorder{calls: calls, result: result}
}

// make makes a call and returns its error. After the call has ended, make records it with the time since due if counts returns true.
func (r *recorder) make(ctx context.Context, call Call, due time.Time, counts func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, r.calls.Timeout)
	defer cancel()
	err := call(ctx)
	took := time.Since(due)
	if !counts() {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.result.Failed[r.calls.Code(err)]++
		return err
	}
	// RecordValue cannot fail within these bounds.
	_ = r.result.Latency.RecordValue(min(max(took, time.Microsecond), longest).Microseconds())
	return nil
}

func (r *recorder) unsent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Unsent++
}

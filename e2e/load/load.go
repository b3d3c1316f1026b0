// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package load calls something: at a constant rate (Open) or as fast as a number of callers can (Closed), and measures how
// long the calls take; or until it is stopped (UntilStopped), and collects what fails.
package load

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Call makes one call and returns when it has ended. It is called by many goroutines at once.
type Call func(ctx context.Context) error

// Calls is what the loads that measure have in common.
type Calls struct {
	// WarmUp is how long there are calls before those that count, and Duration how long there are such.
	WarmUp, Duration time.Duration
	// Timeout is when a call is given up, counted from when it is made.
	Timeout time.Duration
	// Code returns the name under which an error is counted.
	Code func(error) string
}

const (
	// longest is the greatest latency that is told from greater ones.
	longest = 10 * time.Minute
	// digits is how many digits of a latency count.
	digits = 3
)

// Result is what has been measured. It must not be used before the load has ended.
type Result struct {
	// Latency has how long each call took that succeeded, in microseconds.
	Latency *hdrhistogram.Histogram
	// Failed has how many calls failed, by code.
	Failed map[string]int64
	// Unsent is how many calls were due and not made, because as many as may run at once did.
	Unsent int64
	// Elapsed is how long the calls were counted.
	Elapsed time.Duration
}

// Add adds the calls of another result, as if they had been measured one after the other.
func (r *Result) Add(other *Result) {
	r.Latency.Merge(other.Latency)
	for code, count := range other.Failed {
		r.Failed[code] += count
	}
	r.Unsent += other.Unsent
	r.Elapsed += other.Elapsed
}

// Succeeded returns how many calls succeeded.
func (r *Result) Succeeded() int64 { return r.Latency.TotalCount() }

// Lost returns how many calls failed or were not made.
func (r *Result) Lost() int64 {
	lost := r.Unsent
	for _, count := range r.Failed {
		lost += count
	}
	return lost
}

// Throughput returns how many calls succeeded in a second.
func (r *Result) Throughput() float64 { return float64(r.Succeeded()) / r.Elapsed.Seconds() }

// At returns the latency that so many percent of the calls that succeeded stayed within. At 100 it is the greatest.
func (r *Result) At(percentile float64) time.Duration {
	return time.Duration(r.Latency.ValueAtPercentile(percentile)) * time.Microsecond
}

// New returns a result without any calls, for others to be added to.
func New() *Result {
	return &Result{Latency: hdrhistogram.New(1, longest.Microseconds(), digits), Failed: map[string]int64{}}
}

// encoded is a Result as JSON has it: a histogram in the encoding of HdrHistogram.
type encoded struct {
	Latency []byte
	Failed  map[string]int64
	Unsent  int64
	Elapsed time.Duration
}

// MarshalJSON has a result that was measured elsewhere come here.
func (r *Result) MarshalJSON() ([]byte, error) {
	latency, err := r.Latency.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, err
	}
	return json.Marshal(encoded{latency, r.Failed, r.Unsent, r.Elapsed})
}

// UnmarshalJSON reads what MarshalJSON has written.
func (r *Result) UnmarshalJSON(text []byte) error {
	var e encoded
	if err := json.Unmarshal(text, &e); err != nil {
		return err
	}
	latency, err := hdrhistogram.Decode(e.Latency)
	if err != nil {
		return err
	}
	*r = Result{Latency: latency, Failed: e.Failed, Unsent: e.Unsent, Elapsed: e.Elapsed}
	return nil
}

// recorder fills a result. It may be used concurrently.
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

// make makes a call. It is counted if counts says so when it has ended, with the time since due. The error is the call's.
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
	// It cannot fail within these bounds.
	_ = r.result.Latency.RecordValue(min(max(took, time.Microsecond), longest).Microseconds())
	return nil
}

func (r *recorder) unsent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Unsent++
}

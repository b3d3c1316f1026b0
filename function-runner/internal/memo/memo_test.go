// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package memo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/metric/noop"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/krmfn/krmfn/function-runner/internal/memo"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newCache(t testing.TB, limit int64) *memo.Cache {
	t.Helper()
	c, err := memo.New(limit, noop.Meter{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// counted is a function that counts its evaluations.
type counted struct {
	ran  atomic.Int64
	then func(ctx context.Context, n int64, req evaluation.Request) (evaluation.Response, error)
}

func (f *counted) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	n := f.ran.Add(1)
	if f.then != nil {
		return f.then(ctx, n, req)
	}
	return succeeded(req), nil
}

// succeeded returns a response with all fields of a report.
func succeeded(req evaluation.Request) evaluation.Response {
	return evaluation.Response{ResourceList: []byte("out of " + string(req.ResourceList)), Report: &evaluationv1.Evaluation{
		Image: req.Image, Evaluator: evaluationv1.Evaluator_EVALUATOR_EXEC, Implementation: "fn", Stderr: []byte("careful\n"), StderrDroppedBytes: 3,
		Results: []*evaluationv1.Result{{Message: "m"}}, Timings: &evaluationv1.Timings{Start: durationpb.New(time.Second), Execute: durationpb.New(time.Minute)},
	}}
}

func failed(req evaluation.Request) evaluation.Response {
	return evaluation.Failed(&evaluationv1.Evaluation{Image: req.Image}, evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, "exit status 1")
}

func request(list string) evaluation.Request {
	return evaluation.Request{Image: "r.io/fn:v1", ResourceList: []byte(list)}
}

// The second response is a copy of the first one and is marked as cached. Callers may modify their reports.
func TestResultIsCached(t *testing.T) {
	t.Parallel()
	f := &counted{}
	e := newCache(t, 1<<20).Keep("fn", f)
	req := request("in")
	first, err := e.Evaluate(t.Context(), req)
	if err != nil || first.Report.GetCached() || first.Report.GetTimings().GetExecute() == nil {
		t.Fatalf("Evaluate() = %v, %v; want a response that is not cached", first, err)
	}
	first.Report.Image, first.Report.Results[0].Message, first.Report.Stderr[0] = "changed", "changed", 'X'
	for range 2 {
		got, err := e.Evaluate(t.Context(), req)
		want := succeeded(req)
		want.Report.Cached, want.Report.Timings = true, &evaluationv1.Timings{}
		diff := cmp.Diff(want, got, protocmp.Transform(), protocmp.IgnoreFields(&evaluationv1.Timings{}, "queue"))
		if diff != "" || err != nil {
			t.Errorf("error %v, response (-want +got):\n%s", err, diff)
		}
		got.Report.Image = "changed"
	}
	if n := f.ran.Load(); n != 1 {
		t.Errorf("the function ran %d times, want 1", n)
	}
}

// Requests share a result only if name, limit and list are equal.
func TestKeys(t *testing.T) {
	t.Parallel()
	c := newCache(t, 1<<20)
	f := &counted{}
	var want int64
	for _, name := range []string{"", "a", "ab", "a\x00", "b"} {
		for _, list := range []string{"", "b", "\x00b", "ab", strings.Repeat("x", 100)} {
			for _, most := range []int64{0, 1, 100, int64('b')} {
				req := request(list)
				req.MaxOutput = most
				for _, cached := range []bool{false, true} {
					got, err := c.Keep(name, f).Evaluate(t.Context(), req)
					if err != nil || string(got.ResourceList) != "out of "+list || got.Report.GetCached() != cached {
						t.Errorf("Evaluate() of %q with list %q, limit %d = %v, %v", name, list, most, got, err)
					}
				}
				want++
			}
		}
	}
	if n := f.ran.Load(); n != want {
		t.Errorf("the function ran %d times, want %d", n, want)
	}
	// The image of the request is not part of the key.
	other := request("b")
	other.Image = "another name"
	if got, err := c.Keep("a", f).Evaluate(t.Context(), other); err != nil || !got.Report.GetCached() {
		t.Errorf("Evaluate() = %v, %v; want a cached result", got, err)
	}
}

var errTrouble = errors.New("trouble")

// Failures, errors and large results are not cached.
func TestUncachedResults(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(context.Context, int64, evaluation.Request) (evaluation.Response, error){
		"failure": func(_ context.Context, _ int64, req evaluation.Request) (evaluation.Response, error) {
			return failed(req), nil
		},
		"error": func(context.Context, int64, evaluation.Request) (evaluation.Response, error) {
			return evaluation.Response{}, errTrouble
		},
		"too large": func(_ context.Context, _ int64, req evaluation.Request) (evaluation.Response, error) {
			resp := succeeded(req)
			resp.ResourceList = make([]byte, 1000)
			return resp, nil
		},
		"a large report": func(_ context.Context, _ int64, req evaluation.Request) (evaluation.Response, error) {
			resp := succeeded(req)
			resp.Report.Stderr = make([]byte, 1000)
			return resp, nil
		},
		"a report that cannot be encoded": func(_ context.Context, _ int64, req evaluation.Request) (evaluation.Response, error) {
			resp := succeeded(req)
			resp.Report.Implementation = "\xff"
			return resp, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &counted{then: then}
			e := newCache(t, 4000).Keep("fn", f)
			for range 3 {
				got, err := e.Evaluate(t.Context(), request("in"))
				want, wantErr := then(t.Context(), 0, request("in"))
				if !errors.Is(err, wantErr) || string(got.ResourceList) != string(want.ResourceList) || got.Report.GetCached() {
					t.Errorf("Evaluate() = %v, %v; want a response that is not cached", got, err)
				}
			}
			if n := f.ran.Load(); n != 3 {
				t.Errorf("the function ran %d times, want 3", n)
			}
		})
	}
}

// Add replaces the cached result.
func TestAdd(t *testing.T) {
	t.Parallel()
	c, f := newCache(t, 1<<20), &counted{}
	for _, list := range []string{"in", "other"} {
		resp := succeeded(request(list))
		c.Add("fn", request("in"), resp)
		if got, err := c.Keep("fn", f).Evaluate(t.Context(), request("in")); err != nil || string(got.ResourceList) != "out of "+list || !got.Report.GetCached() {
			t.Errorf("Evaluate() = %v, %v; want the added result", got, err)
		}
	}
	c.Add("failing", request("in"), failed(request("in")))
	if got, err := c.Keep("failing", f).Evaluate(t.Context(), request("in")); err != nil || got.Report.GetCached() {
		t.Errorf("Evaluate() = %v, %v; want a response that is not cached", got, err)
	}
}

// A nil Cache caches nothing.
func TestNilCache(t *testing.T) {
	t.Parallel()
	var none *memo.Cache
	none.Add("fn", request("in"), succeeded(request("in")))
	f := &counted{}
	for range 2 {
		if _, err := none.Keep("fn", f).Evaluate(t.Context(), request("in")); err != nil {
			t.Error(err)
		}
	}
	if n := f.ran.Load(); n != 2 {
		t.Errorf("the function ran %d times, want 2", n)
	}
}

// slow waits for a second, or until the caller leaves.
func slow(ctx context.Context) error {
	select {
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// caller has the times, in milliseconds, at which a caller calls, leaves, and gets its response.
type caller struct{ comes, goes, answered time.Duration }

// Of concurrent equal requests, one is evaluated at a time. If its caller leaves, the others are not affected.
func TestConcurrentEqualRequests(t *testing.T) {
	t.Parallel()
	const never = time.Hour
	for name, tc := range map[string]struct {
		callers []caller
		// fails makes the function fail each time.
		fails bool
		// ran is the number of evaluations, and cached the number of responses from other calls.
		ran, cached int64
	}{
		"one evaluation for all":    {callers: []caller{{0, never, 1000}, {1, never, 1000}, {500, never, 1000}, {2000, never, 2000}}, ran: 1, cached: 3},
		"a waiting caller leaves":   {callers: []caller{{0, never, 1000}, {1, 10, 10}, {2, never, 1000}}, ran: 1, cached: 1},
		"the first caller leaves":   {callers: []caller{{0, 100, 100}, {1, never, 1100}, {2, never, 1100}}, ran: 2, cached: 1},
		"two callers leave in turn": {callers: []caller{{0, 100, 100}, {1, 300, 300}, {200, never, 1300}}, ran: 3},
		"the function fails":        {callers: []caller{{0, never, 1000}, {1, never, 2000}, {2, never, 2000}, {3, 1500, 1500}}, fails: true, ran: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var cached, atOnce atomic.Int64
				f := &counted{}
				f.then = func(ctx context.Context, _ int64, req evaluation.Request) (evaluation.Response, error) {
					if n := atOnce.Add(1); n > 1 && !tc.fails {
						t.Errorf("%d concurrent evaluations, want 1", n)
					}
					defer atOnce.Add(-1)
					if err := slow(ctx); err != nil {
						return evaluation.Response{}, err
					}
					if tc.fails {
						return failed(req), nil
					}
					return succeeded(req), nil
				}
				e := newCache(t, 1<<20).Keep("fn", f)
				begin := time.Now()
				for i, c := range tc.callers {
					go func() {
						time.Sleep(c.comes * time.Millisecond)
						ctx, cancel := context.WithDeadlineCause(t.Context(), begin.Add(c.goes*time.Millisecond), fmt.Errorf("caller %d leaves", i))
						defer cancel()
						got, err := e.Evaluate(ctx, request("in"))
						if answered := time.Since(begin); answered != c.answered*time.Millisecond {
							t.Errorf("caller %d got its response after %v, want %v ms", i, answered, int64(c.answered))
						}
						if c.goes == c.answered {
							if err == nil || err.Error() != fmt.Sprintf("caller %d leaves", i) {
								t.Errorf("caller %d, which left, got error %v", i, err)
							}
							return
						}
						waited := (c.answered - c.comes) * time.Millisecond
						if got.Report.GetCached() {
							cached.Add(1)
						} else {
							waited -= time.Second
						}
						if told := got.Report.GetTimings().GetQueue().AsDuration(); err != nil || told != waited {
							t.Errorf("caller %d: queue time = %v (error %v), want %v", i, told, err, waited)
						}
					}()
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if f.ran.Load() != tc.ran || cached.Load() != tc.cached {
					t.Errorf("%d evaluations and %d cached responses, want %d and %d", f.ran.Load(), cached.Load(), tc.ran, tc.cached)
				}
			})
		})
	}
}

// If the function panics, waiting calls continue.
func TestPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &counted{then: func(ctx context.Context, n int64, req evaluation.Request) (evaluation.Response, error) {
			if err := slow(ctx); err != nil || n == 1 {
				panic("the first")
			}
			return succeeded(req), nil
		}}
		e := newCache(t, 1<<20).Keep("fn", f)
		go func() {
			defer func() {
				if recover() == nil {
					t.Error("Evaluate() did not panic")
				}
			}()
			_, _ = e.Evaluate(t.Context(), request("in"))
		}()
		synctest.Wait()
		for _, cached := range []bool{false, true} {
			if got, err := e.Evaluate(t.Context(), request("in")); err != nil || got.Report.GetCached() != cached {
				t.Errorf("Evaluate() = %v, %v", got, err)
			}
		}
	})
}

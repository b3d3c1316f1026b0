// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package evaluation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answer returns an evaluator whose response contains its name.
func answer(name string, err error) Evaluator {
	return Func(func(context.Context, Request) (Response, error) {
		return Response{Report: &evaluationv1.Evaluation{Implementation: name}}, err
	})
}

func TestChain(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	notFound := &NotFoundError{Image: "inner"}
	failing := Func(func(context.Context, Request) (Response, error) {
		return Failed(&evaluationv1.Evaluation{Implementation: "failing"}, evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, "x"), nil
	})
	for name, tc := range map[string]struct {
		chain []Evaluator
		want  string
		err   error
	}{
		"first evaluator that knows the function": {chain: []Evaluator{answer("", notFound), answer("a", nil), answer("b", nil)}, want: "a"},
		"failure ends the chain":                  {chain: []Evaluator{failing, answer("b", nil)}, want: "failing"},
		"another error ends the chain":            {chain: []Evaluator{answer("a", boom), answer("b", nil)}, want: "a", err: boom},
		"no evaluator knows the function":         {chain: []Evaluator{answer("", notFound)}, err: &NotFoundError{Image: "asked"}},
		"empty":                                   {err: &NotFoundError{Image: "asked"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, err := Chain(tc.chain...).Evaluate(t.Context(), Request{Image: "asked"})
			if got := resp.Report.GetImplementation(); got != tc.want {
				t.Errorf("Implementation = %q, want %q", got, tc.want)
			}
			if (err == nil) != (tc.err == nil) || (err != nil && err.Error() != tc.err.Error()) {
				t.Errorf("Evaluate() = %v, want %v", err, tc.err)
			}
		})
	}
}

func TestMaximumTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := WithMaximumTime(Func(func(ctx context.Context, _ Request) (Response, error) {
			<-ctx.Done()
			return Response{}, context.Cause(ctx)
		}), time.Minute)
		begin := time.Now()
		_, err := e.Evaluate(t.Context(), Request{})
		if !errors.As(err, new(*TimeoutError)) || time.Since(begin) != time.Minute {
			t.Errorf("Evaluate() = %v after %v, want a TimeoutError after 1m", err, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := e.Evaluate(ctx, Request{}); !errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*TimeoutError)) {
			t.Errorf("Evaluate() with a shorter deadline = %v, want DeadlineExceeded", err)
		}
	})
}

func TestInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := InTime(Func(func(ctx context.Context, _ Request) (Response, error) {
			<-ctx.Done()
			return Response{}, context.Cause(ctx)
		}))
		for given, want := range map[time.Duration]time.Duration{time.Second: 950 * time.Millisecond, time.Minute: time.Minute - 100*time.Millisecond} {
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), given)
			_, err := e.Evaluate(ctx, Request{})
			if took := time.Since(begin); took != want || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("deadline in %v: Evaluate() returned after %v with error %v, want after %v", given, took, err, want)
			}
			cancel()
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := e.Evaluate(ctx, Request{}); !errors.Is(err, context.Canceled) {
			t.Errorf("Evaluate() = %v, want Canceled", err)
		}
	})
}

func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		order := make(chan string, 10)
		gate := NewGate(1, 2)
		load := func(running, waiting int) {
			t.Helper()
			synctest.Wait()
			if r, w := gate.Load(); r != running || w != waiting {
				t.Errorf("Load() = %d running, %d waiting, want %d, %d", r, w, running, waiting)
			}
		}
		load(0, 0)
		e := gate.Limit(Func(func(_ context.Context, req Request) (Response, error) {
			order <- req.Image
			time.Sleep(time.Second) // synctest's clock
			return Response{Report: &evaluationv1.Evaluation{}}, nil
		}))
		queued := make(chan time.Duration, 10)
		call := func(ctx context.Context, name string) {
			resp, err := e.Evaluate(ctx, Request{Image: name})
			if err == nil {
				queued <- resp.Report.GetTimings().GetQueue().AsDuration()
			}
		}
		go call(t.Context(), "first")
		synctest.Wait()
		// A canceled call leaves the queue.
		ctx, cancel := context.WithCancel(t.Context())
		go call(ctx, "gone")
		load(1, 1)
		cancel()
		load(1, 0)
		go call(t.Context(), "second")
		synctest.Wait()
		go call(t.Context(), "third")
		synctest.Wait()
		if _, err := e.Evaluate(t.Context(), Request{}); !errors.As(err, new(*BusyError)) {
			t.Errorf("Evaluate() with a full queue = %v, want a BusyError", err)
		}
		load(1, 2)
		for i, want := range []string{"first", "second", "third"} {
			if got := <-order; got != want {
				t.Errorf("%s ran, want %s", got, want)
			}
			if got, wait := <-queued, time.Duration(i)*time.Second; got != wait {
				t.Errorf("queue time of %s = %v, want %v", want, got, wait)
			}
		}
		load(0, 0)
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

func TestResultsText(t *testing.T) {
	t.Parallel()
	got := ResultsText([]*evaluationv1.Result{
		{
			Message: "bad thing", Severity: "error", Field: &evaluationv1.Field{Path: "spec.x"},
			ResourceRef: &evaluationv1.ResourceRef{ApiVersion: "v1", Kind: "Pod", Namespace: "web", Name: "front"},
		},
		{Message: "plain"},
	})
	if want := "[error] v1/Pod/web/front spec.x: bad thing\n\n[info]: plain"; got != want {
		t.Errorf("ResultsText() = %q, want %q", got, want)
	}
}

// The log line contains the report's warning.
func TestLogContainsWarning(t *testing.T) {
	t.Parallel()
	for _, warning := range []string{"", "fn:v2 is evaluated by v1"} {
		var log bytes.Buffer
		e := WithLog(Func(func(context.Context, Request) (Response, error) {
			return Response{Report: &evaluationv1.Evaluation{Warning: warning}}, nil
		}), slog.New(slog.NewTextHandler(&log, nil)), LogOptions{})
		if _, err := e.Evaluate(t.Context(), Request{Image: "fn:v2"}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(log.String(), ` warning="`+warning+`"`); got != (warning != "") {
			t.Errorf("warning %q: log = %s", warning, &log)
		}
	}
}

// The log line says whether the result was cached.
func TestLogOfCachedResult(t *testing.T) {
	t.Parallel()
	for _, cached := range []bool{false, true} {
		var log bytes.Buffer
		e := WithLog(Func(func(context.Context, Request) (Response, error) {
			return Response{Report: &evaluationv1.Evaluation{Cached: cached}}, nil
		}), slog.New(slog.NewTextHandler(&log, nil)), LogOptions{})
		if _, err := e.Evaluate(t.Context(), Request{Image: "fn"}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(log.String(), " cached=true"); got != cached {
			t.Errorf("cached = %v: log = %s", cached, &log)
		}
	}
}

// The line of a failed function contains its exit code. It contains its message only with FailureReasons, because the message may
// quote the package.
func TestLogOfFailureReason(t *testing.T) {
	t.Parallel()
	failure := func(message string) *evaluationv1.Failure {
		return &evaluationv1.Failure{Reason: evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, Message: message}
	}
	for name, tc := range map[string]struct {
		report *evaluationv1.Evaluation
		want   string
	}{
		"result with severity error": {&evaluationv1.Evaluation{Failure: failure("exit status 3"), Stderr: []byte("noise"), Results: []*evaluationv1.Result{
			{Message: "fine", Severity: "info"}, {Message: "secret: no label\nmore", Severity: "error"},
		}}, `reason="[error]: secret: no label"`},
		"standard error": {&evaluationv1.Evaluation{Failure: failure("exit status 3"), Stderr: []byte("\n\n  secret: no label \nmore")}, `reason="secret: no label"`},
		"no message":     {&evaluationv1.Evaluation{Failure: failure("exit status 3: secret")}, `reason="exit status 3: secret"`},
		"long message":   {&evaluationv1.Evaluation{Failure: failure("x"), Stderr: []byte("secret" + strings.Repeat("ä", 500))}, "reason=secret" + strings.Repeat("ä", 125) + "\n"},
	} {
		tc.report.ExitCode = 3
		for _, reasons := range []bool{false, true} {
			var log bytes.Buffer
			answer := Func(func(context.Context, Request) (Response, error) { return Response{Report: tc.report}, nil })
			if _, err := WithLog(answer, slog.New(slog.NewTextHandler(&log, nil)), LogOptions{FailureReasons: reasons}).Evaluate(t.Context(), Request{}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(log.String(), " exit_code=3 ") {
				t.Errorf("%s: want exit_code=3 in the log: %s", name, &log)
			}
			if got := strings.Contains(log.String(), tc.want); got != reasons || !reasons && strings.Contains(log.String(), "secret") {
				t.Errorf("%s, FailureReasons=%v: want %s in the log only if true: %s", name, reasons, tc.want, &log)
			}
		}
	}
}

// The option Succeeded applies to successful evaluations only.
func TestLogLevel(t *testing.T) {
	t.Parallel()
	failed := &evaluationv1.Evaluation{Failure: &evaluationv1.Failure{Reason: evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE}}
	for name, tc := range map[string]struct {
		report *evaluationv1.Evaluation
		err    error
		want   string
	}{
		"success": {new(evaluationv1.Evaluation), nil, "level=DEBUG msg=evaluated image=fn code=ok "},
		"failure": {failed, nil, "level=WARN msg=evaluated image=fn code=exit_code "},
		"error":   {nil, context.Canceled, "level=WARN msg=evaluated image=fn code=canceled "},
	} {
		var log bytes.Buffer
		answer := Func(func(context.Context, Request) (Response, error) { return Response{Report: tc.report}, tc.err })
		handler := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})
		if _, err := WithLog(answer, slog.New(handler), LogOptions{Succeeded: slog.LevelDebug}).Evaluate(t.Context(), Request{Image: "fn"}); !errors.Is(err, tc.err) {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), tc.want) {
			t.Errorf("%s: want %q in the log: %s", name, tc.want, &log)
		}
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"

	"github.com/krmfn/krmfn/internal/server/logging"
	"github.com/krmfn/krmfn/services/evaluation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Spans are sent in batches: when one is full, or some time after its first span.
func TestBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		e := newExporter(&traceSettings{}, slog.New(slog.DiscardHandler))
		var sizes []int
		var after []time.Duration
		begin := time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for batch := e.collect(ctx); len(batch) > 0; batch = e.collect(ctx) {
				sizes, after = append(sizes, len(batch)), append(after, time.Since(begin))
			}
		}()
		add := func(spans int) {
			for range spans {
				e.add(&tracepb.Span{})
			}
			synctest.Wait()
		}
		time.Sleep(time.Hour)
		add(2)
		time.Sleep(batchDelay + time.Second)
		add(maxBatch + 1)
		cancel()
		add(0)
		<-done
		if diff := cmp.Diff([]int{2, maxBatch, 1}, sizes); diff != "" {
			t.Errorf("sizes of batches (-want +got):\n%s", diff)
		}
		last := time.Hour + batchDelay + time.Second
		if diff := cmp.Diff([]time.Duration{time.Hour + batchDelay, last, last}, after); diff != "" {
			t.Errorf("times of batches (-want +got):\n%s", diff)
		}
	})
}

// However many spans there are, none waits and only so many are kept; what was lost is told when spans are sent again.
func TestDropped(t *testing.T) {
	t.Parallel()
	log := new(bytes.Buffer)
	e := newExporter(&traceSettings{}, logging.New(log, logging.JSON, 1))
	for range maxQueued + 7 {
		e.add(&tracepb.Span{})
	}
	e.report(3, context.DeadlineExceeded)
	e.report(2, context.DeadlineExceeded)
	e.report(5, nil)
	e.report(5, nil)
	if text := log.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, `"dropped":12`) {
		t.Errorf("logged %s", text)
	}
}

// A collector that hangs does not hold up the end.
func TestEndIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		e := newExporter(&traceSettings{}, slog.New(slog.DiscardHandler))
		e.post = func(ctx context.Context, _ []byte) error {
			<-ctx.Done()
			return ctx.Err()
		}
		for range 3 * maxBatch {
			e.add(&tracepb.Span{})
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			e.run(ctx)
		}()
		time.Sleep(time.Hour)
		cancel()
		ended := time.Now()
		<-done
		if took := time.Since(ended); took != flush {
			t.Errorf("the end took %v, want %v", took, flush)
		}
	})
}

func TestLongImage(t *testing.T) {
	t.Parallel()
	span := describe(t.Context(), evaluation.Request{Image: strings.Repeat("é", maxAttribute)}, evaluation.Response{}, context.Canceled)
	for _, a := range span.GetAttributes() {
		if text := a.GetValue().GetStringValue(); len(text) > maxAttribute || strings.ToValidUTF8(text, "?") != text {
			t.Errorf("%s has %d bytes", a.GetKey(), len(text))
		}
	}
}

func TestCodeNames(t *testing.T) {
	t.Parallel()
	for code, want := range map[codes.Code]string{
		codes.OK: "OK", codes.Canceled: "CANCELLED", codes.DeadlineExceeded: "DEADLINE_EXCEEDED", codes.Internal: "INTERNAL",
		codes.Unavailable: "UNAVAILABLE", codes.Unauthenticated: "UNAUTHENTICATED", 17: "CODE(17)",
	} {
		if got := codeName(code); got != want {
			t.Errorf("code %d is named %q, want %q", code, got, want)
		}
	}
}

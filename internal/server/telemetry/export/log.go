// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"golang.org/x/time/rate"
)

// errorLogInterval is the minimum interval between log lines about failed exports. While a collector is down, an export fails every few
// seconds.
const errorLogInterval = time.Minute

// logErrors makes OpenTelemetry log to the default logger.
func logErrors() {
	seldom := rate.Sometimes{First: 1, Interval: errorLogInterval}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		seldom.Do(func() { slog.Default().Warn("telemetry export failed", "err", err) })
	}))
	otel.SetLogger(logr.FromSlogHandler(withoutValues{slog.Default().Handler()}))
}

// withoutValues drops the attributes of log records. OpenTelemetry logs the values of variables that it cannot parse, and they may contain
// credentials.
type withoutValues struct{ slog.Handler }

// Enabled leaves out OpenTelemetry's records of level Info, which logr maps to Debug: without attributes they say nothing.
func (h withoutValues) Enabled(ctx context.Context, level slog.Level) bool {
	return level > slog.LevelDebug && h.Handler.Enabled(ctx, level)
}

func (h withoutValues) Handle(ctx context.Context, r slog.Record) error {
	return h.Handler.Handle(ctx, slog.NewRecord(r.Time, r.Level, "OpenTelemetry: "+r.Message, r.PC))
}

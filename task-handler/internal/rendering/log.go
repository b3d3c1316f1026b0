// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"context"
	"log/slog"
	"time"
)

// WithLog writes one line for each render: how large the package was, how it went and how long it took, and nothing of the
// content, which the texts of errors may have. A package that does not render is not trouble of the server.
func WithLog(r Renderer, log *slog.Logger) Renderer {
	return Func(func(ctx context.Context, req Request) (Result, error) {
		begin := time.Now()
		result, err := r.Render(ctx, req)
		level := slog.LevelInfo
		attrs := []slog.Attr{
			slog.Int("files", len(req.Files)), slog.Duration("duration", time.Since(begin)), slog.String("code", code(result, err)),
		}
		if err != nil {
			level, attrs = slog.LevelWarn, append(attrs, slog.String("err", err.Error()))
		} else {
			attrs = append(attrs, slog.String("input_hash", result.InputHash), slog.Int("changes", len(result.Changes)),
				slog.Int("functions", len(result.Report.Functions)))
		}
		log.LogAttrs(ctx, level, "rendered", attrs...)
		return result, err
	})
}

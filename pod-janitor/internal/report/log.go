// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"log/slog"

	"github.com/krmfn/krmfn/pod-janitor/internal/sweep"
)

// log writes a line on one object. What somebody has to look at is a warning.
func (r *Row) log(ctx context.Context, log *slog.Logger) {
	level := slog.LevelInfo
	if r.Action == Failed || r.Action == Left {
		level = slog.LevelWarn
	}
	attributes := []slog.Attr{
		slog.String("action", string(r.Action)),
		slog.String("kind", string(r.Kind)), slog.String("name", r.Name), slog.String("image", r.Image),
		slog.String("reason", string(r.Reason)), slog.String("detail", r.Detail), slog.String("idle_since", clock(r.Since)),
	}
	if r.Err != nil {
		attributes = append(attributes, slog.Any("err", r.Err))
	}
	log.LogAttrs(ctx, level, "swept", attributes...)
}

// summary writes the one line that every sweep ends with.
func (r *Report) summary(ctx context.Context, log *slog.Logger) {
	uncertain, stuck := 0, 0
	for _, row := range r.Rows {
		switch row.Reason {
		case sweep.Uncertain:
			uncertain++
		case sweep.Stuck:
			stuck++
		}
	}
	deleted := slog.Int("deleted", r.Count(Deleted))
	if r.DryRun {
		deleted = slog.Int("would_delete", r.Count(WouldDelete))
	}
	log.LogAttrs(ctx, slog.LevelInfo, "sweep done", slog.String("namespace", r.Namespace), slog.Bool("dry_run", r.DryRun),
		slog.Int("pods", r.Seen[sweep.Pod]), slog.Int("services", r.Seen[sweep.Service]), slog.Int("secrets", r.Seen[sweep.Secret]),
		deleted, slog.Int("used_meanwhile", r.Count(Used)), slog.Int("gone", r.Count(Gone)), slog.Int("failed", r.Count(Failed)),
		slog.Int("next_sweep", r.Count(Waiting)), slog.Int("kept", r.Kept), slog.Int("uncertain", uncertain), slog.Int("stuck", stuck),
		slog.Duration("took", r.Took))
}

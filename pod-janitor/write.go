// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/krmfn/krmfn/pod-janitor/internal/sweep"
	"github.com/krmfn/krmfn/pod-janitor/options"
)

// write writes the report to w as a table or as one line of JSON, or to the log with one line per object. The log always has the failures
// and the summary.
func (r *Report) write(ctx context.Context, w io.Writer, output options.Output, log *slog.Logger) error {
	var err error
	switch output {
	case options.Table:
		err = r.table(w)
	case options.JSON:
		r.Rows = append([]Row{}, r.Rows...) // an empty list instead of null
		err = json.NewEncoder(w).Encode(r)
	}
	for _, row := range r.Rows {
		if output == options.Log || row.Error != "" {
			row.log(ctx, log)
		}
	}
	r.summary(ctx, log)
	if err != nil {
		return fmt.Errorf("write the report to standard output: %w", err)
	}
	return nil
}

// table writes the report as a table.
func (r *Report) table(w io.Writer) error {
	if len(r.Rows) == 0 {
		_, err := fmt.Fprintln(w, "nothing to delete")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KIND\tNAME\tIMAGE\tREASON\tIDLE SINCE\tACTION")
	for _, row := range r.Rows {
		reason := string(row.Reason)
		if row.Detail != "" {
			reason += ": " + row.Detail
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", row.Kind, row.Name, cell(row.Image), cell(reason), row.Since.Format(time.RFC3339), row.Action)
	}
	return t.Flush()
}

// maxCellBytes is the maximum size of a cell.
const maxCellBytes = 120

// cell returns the text of a cell. It quotes and shortens the text, which may have any content, to protect the terminal.
func cell(text string) string {
	if len(text) > maxCellBytes {
		text = strings.ToValidUTF8(text[:maxCellBytes], "") + "..."
	}
	switch {
	case text == "":
		return "-"
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return strconv.Quote(text)
	}
	return text
}

// log writes the log line of one object. Objects that need attention are warnings.
func (r *Row) log(ctx context.Context, log *slog.Logger) {
	level := slog.LevelInfo
	if r.Action == Failed || r.Action == Left {
		level = slog.LevelWarn
	}
	attributes := []slog.Attr{
		slog.String("action", string(r.Action)),
		slog.String("kind", string(r.Kind)), slog.String("name", r.Name), slog.String("image", r.Image),
		slog.String("reason", string(r.Reason)), slog.String("detail", r.Detail), slog.String("idle_since", r.Since.Format(time.RFC3339)),
	}
	if r.Error != "" {
		attributes = append(attributes, slog.String("err", r.Error))
	}
	log.LogAttrs(ctx, level, "swept", attributes...)
}

// summary writes the last log line of a sweep.
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
	deleted := slog.Int("deleted", r.count(Deleted))
	if r.DryRun {
		deleted = slog.Int("would_delete", r.count(WouldDelete))
	}
	log.LogAttrs(ctx, slog.LevelInfo, "sweep done", slog.String("namespace", r.Namespace), slog.Bool("dry_run", r.DryRun),
		slog.Int("pods", r.Seen[sweep.Pod]), slog.Int("services", r.Seen[sweep.Service]), slog.Int("secrets", r.Seen[sweep.Secret]),
		deleted, slog.Int("used_meanwhile", r.count(Used)), slog.Int("gone", r.count(Gone)), slog.Int("failed", r.count(Failed)),
		slog.Int("next_sweep", r.count(Waiting)), slog.Int("kept", r.Kept), slog.Int("uncertain", uncertain), slog.Int("stuck", stuck),
		slog.Duration("took", r.took))
}

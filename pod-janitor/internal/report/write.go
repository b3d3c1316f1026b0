// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report

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
)

// Write writes the report to w as a table or as one line of JSON, or line by line to the log. What failed and the summary are in
// the log in any case.
func (r *Report) Write(ctx context.Context, w io.Writer, output Output, log *slog.Logger) error {
	var err error
	switch output {
	case Table:
		err = r.table(w)
	case JSON:
		err = json.NewEncoder(w).Encode(r.document())
	}
	for _, row := range r.Rows {
		if output == Log || row.Err != nil {
			row.log(ctx, log)
		}
	}
	r.summary(ctx, log)
	if err != nil {
		return fmt.Errorf("write the report to the standard output: %w", err)
	}
	return nil
}

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
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", row.Kind, row.Name, cell(row.Image), cell(reason), clock(row.Since), row.Action)
	}
	return t.Flush()
}

// widest is the most bytes of a cell.
const widest = 120

// cell returns a text that anybody may have written as one cell, which does not change the terminal.
func cell(text string) string {
	if len(text) > widest {
		text = strings.ToValidUTF8(text[:widest], "") + "..."
	}
	switch {
	case text == "":
		return "-"
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return strconv.Quote(text)
	}
	return text
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// document is what a report is as JSON.
type document struct {
	Namespace string             `json:"namespace"`
	DryRun    bool               `json:"dryRun"`
	Begin     string             `json:"begin"`
	Seen      map[sweep.Kind]int `json:"seen"`
	Kept      int                `json:"kept"`
	Objects   []object           `json:"objects"`
}

type object struct {
	Kind      sweep.Kind   `json:"kind"`
	Name      string       `json:"name"`
	UID       string       `json:"uid"`
	Image     string       `json:"image,omitempty"`
	Reason    sweep.Reason `json:"reason"`
	Detail    string       `json:"detail,omitempty"`
	IdleSince string       `json:"idleSince"`
	Action    Action       `json:"action"`
	Error     string       `json:"error,omitempty"`
}

func (r *Report) document() document {
	d := document{Namespace: r.Namespace, DryRun: r.DryRun, Begin: clock(r.Begin), Seen: r.Seen, Kept: r.Kept, Objects: []object{}}
	for _, row := range r.Rows {
		o := object{
			Kind: row.Kind, Name: row.Name, UID: string(row.UID), Image: row.Image, Reason: row.Reason, Detail: row.Detail,
			IdleSince: clock(row.Since), Action: row.Action,
		}
		if row.Err != nil {
			o.Error = row.Err.Error()
		}
		d.Objects = append(d.Objects, o)
	}
	return d
}

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

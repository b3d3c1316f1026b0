// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package logging creates the loggers of all binaries, and suppresses repeated errors.
package logging

import (
	"io"
	"log/slog"
	"time"
)

// The formats of a log.
const (
	JSON = "json"
	Text = "text"
)

// New returns a logger that writes one line for each event to w: as JSON, or as key=value for people. Verbosity is klog's:
// 0 logs errors, 1 warnings too, 2 and 3 one line per evaluation too, 4 and more everything. In JSON, a duration KEY is the number
// KEY_seconds; in text it is KEY=1.5s. Both are rounded to microseconds.
func New(w io.Writer, format string, verbosity int) *slog.Logger {
	if format == Text {
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level(verbosity), ReplaceAttr: rounded}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level(verbosity), ReplaceAttr: inSeconds}))
}

func level(verbosity int) slog.Level {
	switch {
	case verbosity <= 0:
		return slog.LevelError
	case verbosity == 1:
		return slog.LevelWarn
	case verbosity < 4:
		return slog.LevelInfo
	default:
		return slog.LevelDebug
	}
}

// Once has each problem of one thing logged once, until there is another one. The zero value has seen none. It is for one
// goroutine at a time.
type Once struct{ last string }

// New reports whether to log err: whether it differs from the error of the last call. A nil error means that there is no problem.
func (o *Once) New(err error) bool {
	before := o.last
	o.last = ""
	if err != nil {
		o.last = err.Error()
	}
	return err != nil && o.last != before
}

// rounded rounds durations to microseconds.
func rounded(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.DurationValue(a.Value.Duration().Round(time.Microsecond))
	}
	return a
}

// inSeconds replaces durations, which JSON would have as a number whose unit nobody can guess.
func inSeconds(groups []string, a slog.Attr) slog.Attr {
	if a = rounded(groups, a); a.Value.Kind() == slog.KindDuration {
		return slog.Float64(a.Key+"_seconds", a.Value.Duration().Seconds())
	}
	return a
}

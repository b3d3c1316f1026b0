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

// New returns a logger that writes one line for each event to w, as JSON or as key=value text. verbosity is like klog's: 0 logs errors, 1
// also warnings, 2 and 3 also one line per evaluation, 4 and above everything. In JSON, a duration KEY is the number KEY_seconds; in text
// it is KEY=1.5s. Durations are rounded to microseconds.
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

// Once suppresses repeated log lines about the same error. The zero value is ready to use. Not safe for concurrent use.
type Once struct{ last string }

// New reports whether err must be logged: it is not nil, and its text differs from the error of the previous call.
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

// inSeconds converts durations to seconds and adds the unit to the key. slog would write nanoseconds without a unit.
func inSeconds(groups []string, a slog.Attr) slog.Attr {
	if a = rounded(groups, a); a.Value.Kind() == slog.KindDuration {
		return slog.Float64(a.Key+"_seconds", a.Value.Duration().Seconds())
	}
	return a
}

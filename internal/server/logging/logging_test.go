// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		format string
		took   time.Duration
		want   string
	}{
		{JSON, 1500 * time.Millisecond, `"took_seconds":1.5`},
		{JSON, 231 * time.Nanosecond, `"took_seconds":0}`},
		{JSON, 1234567 * time.Nanosecond, `"took_seconds":0.001235}`},
		{JSON, time.Microsecond, `"took_seconds":0.000001}`},
		{Text, 1500 * time.Millisecond, "took=1.5s"},
		{Text, 1234567 * time.Nanosecond, "took=1.235ms"},
	} {
		var out bytes.Buffer
		New(&out, tc.format, 2).Info("done", "took", tc.took)
		if !strings.Contains(out.String(), tc.want) {
			t.Errorf("line with %v in format %s = %s, want %s", tc.took, tc.format, &out, tc.want)
		}
	}
}

// An error is new if the previous call had no error or a different one.
func TestOnce(t *testing.T) {
	t.Parallel()
	a, b := errors.New("a"), errors.New("b")
	var once Once
	for i, step := range []struct {
		err  error
		want bool
	}{
		{nil, false}, {a, true}, {errors.New("a"), false}, {b, true}, {a, true}, {nil, false}, {nil, false}, {a, true},
	} {
		if got := once.New(step.err); got != step.want {
			t.Errorf("step %d: New(%v) = %v, want %v", i, step.err, got, step.want)
		}
	}
}

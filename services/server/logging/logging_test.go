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
	for format, want := range map[string]string{JSON: `"took_seconds":1.5`, Text: "took=1.5s"} {
		var out bytes.Buffer
		New(&out, format, 2).Info("done", "took", 1500*time.Millisecond)
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: want %s in %s", format, want, &out)
		}
	}
}

// A problem is new when it begins, changes, or comes again after there was none.
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
			t.Errorf("step %d: %v is new: %v, want %v", i, step.err, got, step.want)
		}
	}
}

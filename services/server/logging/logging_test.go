// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"errors"
	"testing"
)

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

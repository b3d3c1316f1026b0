// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	var d latencies
	if got := d.median(); got != 0 {
		t.Errorf("median() without calls = %v, want 0", got)
	}
	for _, took := range []time.Duration{5, 1, 9} {
		d.add(took)
	}
	if got := d.median(); got != 5 {
		t.Errorf("median() = %v, want 5", got)
	}
	for range remembered {
		d.add(7)
	}
	if got := d.median(); got != 7 {
		t.Errorf("median() of the last calls = %v, want 7", got)
	}
}

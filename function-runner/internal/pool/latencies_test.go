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
		t.Errorf("without calls the median is %v", got)
	}
	for _, took := range []time.Duration{5, 1, 9} {
		d.add(took)
	}
	if got := d.median(); got != 5 {
		t.Errorf("the median is %v, want 5", got)
	}
	for range remembered {
		d.add(7)
	}
	if got := d.median(); got != 7 {
		t.Errorf("the median of the last calls is %v, want 7", got)
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDivide(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		share     float64
		heapLimit int64
		want      Shares
	}{
		"the share":               {.4, math.MaxInt64, Shares{400, 550}},
		"GOMEMLIMIT is less":      {.4, 100, Shares{100, 850}},
		"GOMEMLIMIT is more":      {.4, 900, Shares{900, 50}},
		"GOMEMLIMIT is too much":  {.4, 2000, Shares{950, 0}},
		"nothing for executables": {.95, math.MaxInt64, Shares{950, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, divide(1000, test.share, test.heapLimit)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever machine this is, there is something to be divided.
func TestDivideHere(t *testing.T) {
	t.Parallel()
	if got := Divide(.4); got.Heap <= 0 || got.Executables <= 0 {
		t.Errorf("got %+v", got)
	}
}

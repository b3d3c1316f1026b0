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
		"no GOMEMLIMIT":           {.4, math.MaxInt64, Shares{400, 550}},
		"GOMEMLIMIT below share":  {.4, 100, Shares{100, 850}},
		"GOMEMLIMIT above share":  {.4, 900, Shares{900, 50}},
		"GOMEMLIMIT above limit":  {.4, 2000, Shares{950, 0}},
		"nothing for executables": {.95, math.MaxInt64, Shares{950, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, divide(1000, test.share, test.heapLimit)); diff != "" {
				t.Errorf("divide() (-want +got):\n%s", diff)
			}
		})
	}
}

// On any machine, both shares are positive.
func TestDivideOnThisMachine(t *testing.T) {
	t.Parallel()
	if got := Divide(.4); got.Heap <= 0 || got.Executables <= 0 {
		t.Errorf("Divide() = %+v, want positive shares", got)
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"slices"
	"strings"
	"testing"
)

// Head returns output up to the limit. It returns nil if there is more, so that a part is never taken for the whole.
func TestHead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		written []string
		want    string
		full    bool
		floods  int
	}{
		"nothing":              {},
		"at the limit":         {written: []string{"12", "34"}, want: "1234"},
		"over the limit":       {written: []string{"12", "34", "5"}, full: true},
		"at the flood limit":   {written: slices.Repeat([]string{"12345678"}, 8), full: true},
		"over the flood limit": {written: append(slices.Repeat([]string{"12345678"}, 8), "9"), full: true, floods: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			floods := 0
			h := &Head{Limit: 4, OnFlood: func() { floods++ }}
			for _, part := range tc.written {
				h.Advance(copy(h.Space(), part))
			}
			if got := string(h.Output()); got != tc.want || h.Full() != tc.full || floods != tc.floods {
				t.Errorf("Output() = %q, Full() = %v, %d floods; want %q, %v, %d", got, h.Full(), floods, tc.want, tc.full, tc.floods)
			}
			if got, want := h.Size(), int64(len(strings.Join(tc.written, ""))); got != want {
				t.Errorf("Size() = %d, want %d", got, want)
			}
		})
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"slices"
	"testing"
)

func FuzzParseSettings(f *testing.F) {
	f.Add("- name: a\n  timeToLive: 1m\n")
	f.Add("a: 30m\n")
	f.Add("- &x [*x]\n")
	f.Add("'': 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		names, nameless, err := parseSettings([]byte(text))
		if err != nil && (names != nil || nameless != 0) {
			t.Errorf("%q, %d and %v", names, nameless, err)
		}
		if slices.Contains(names, "") || nameless < 0 {
			t.Errorf("%q has an image without a name", names)
		}
	})
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"path/filepath"
	"testing"
)

func TestScratchRoot(t *testing.T) {
	t.Parallel()
	there, other := t.TempDir(), t.TempDir()
	missing := filepath.Join(there, "missing")
	for name, tc := range map[string]struct {
		candidates []string
		want       string
	}{
		"the first":       {[]string{there, other}, there},
		"the second":      {[]string{missing, other}, other},
		"none: the first": {[]string{missing, missing + "2"}, missing},
	} {
		if got := scratchRoot(tc.candidates...); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
		left, err := filepath.Glob(filepath.Join(there, "*"))
		if err != nil || len(left) > 0 {
			t.Errorf("%s: %v (%v) is left", name, left, err)
		}
	}
}

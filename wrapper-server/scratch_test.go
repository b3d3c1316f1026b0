// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

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
		"first":  {[]string{there, other}, there},
		"second": {[]string{missing, other}, other},
		"none":   {[]string{missing, missing + "2"}, missing},
	} {
		if got := scratchRoot(tc.candidates...); got != tc.want {
			t.Errorf("%s: scratchRoot() = %s, want %s", name, got, tc.want)
		}
		left, err := filepath.Glob(filepath.Join(there, "*"))
		if err != nil || len(left) > 0 {
			t.Errorf("%s: %v remains (error %v)", name, left, err)
		}
	}
}

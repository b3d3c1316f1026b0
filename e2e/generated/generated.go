// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package generated tests that generated files in the checkout are up to date.
package generated

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Check fails the test unless the file has the wanted content; how names the command that regenerates it. If update is true,
// Check writes the file first.
func Check(t *testing.T, file, want string, update bool, how string) {
	t.Helper()
	if update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not up to date: %s (-want +got):\n%s", file, how, diff)
	}
}

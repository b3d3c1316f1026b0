// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package flagstest checks that the reference pages of flags are up to date. It adds the flag -update to tests.
package flagstest

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the reference pages of flags")

// Reference compares a reference page with its file. With -update, it writes the file first.
func Reference(t *testing.T, file, page string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page, string(got)); diff != "" {
		t.Errorf("%s is not up to date, see its third line (-want +got):\n%s", file, diff)
	}
}

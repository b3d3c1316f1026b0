// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package flagstest checks that the reference pages of flags are up to date. It adds the flag -update to tests.
package flagstest

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/internal/server/flags"
)

var update = flag.Bool("update", false, "write the reference pages of flags")

// Reference compares the flags of a program with its section of a reference page. With -update, it writes the section instead. The section
// is between two comments that contain the name of the set. command regenerates it. Each flag must be in a group.
func Reference(t *testing.T, page string, set *pflag.FlagSet, command string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := fmt.Sprintf("<!-- %s: %s -->\n", set.Name(), command), fmt.Sprintf("<!-- end of %s -->\n", set.Name())
	before, rest, found := strings.Cut(string(text), begin)
	got, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no section between %q and %q", page, begin, end)
	}
	want := "\n" + flags.Reference(set)
	if strings.Contains(want, "### \n") {
		t.Errorf("flags without a group:\n%s", want)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the section %s of %s is not up to date: %s (-want +got):\n%s", set.Name(), page, command, diff)
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/shlex"
)

// Every command of krmfn in the pages has the subcommands and flags that it is shown with.
func TestCommandsOfPages(t *testing.T) {
	t.Parallel()
	for page, least := range map[string]int{"write-a-function.md": 10} {
		text, err := os.ReadFile("../../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "krmfn ") {
				continue
			}
			found++
			line, _, _ = strings.Cut(line, " >")
			words, err := shlex.Split(strings.TrimSuffix(strings.TrimSpace(line), "&"))
			if err != nil {
				t.Fatal(err)
			}
			// Help comes after the flags have been understood, and before anything is done.
			end := slices.Index(words, "--")
			if end < 0 {
				end = len(words)
			}
			got := krmfn(t, slices.Insert(words, end, "--help")[1:]...)
			if got.code != 0 || !strings.Contains(got.out, "krmfn "+words[1]) {
				t.Errorf("%s: %s: exit code %d: %s", page, line, got.code, got.err)
			}
		}
		if found < least {
			t.Errorf("%s: %d commands of krmfn were found, want %d or more", page, found, least)
		}
	}
}

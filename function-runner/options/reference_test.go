// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/services/flags"
)

var update = flag.Bool("update", false, "write the reference of flags anew")

const reference = "../../docs/function-runner.md"

// The reference of flags says what the flags say of themselves.
func TestReference(t *testing.T) {
	t.Parallel()
	page := flags.Reference(new(Options).Flags(), "go -C function-runner test ./options -run TestReference -update",
		"Flags may have one dash or two. A value that makes no sense is refused at start.",
		map[string]string{"max-concurrent-evaluations": "4 × processors"})
	if *update {
		if err := os.WriteFile(reference, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page, string(got)); diff != "" {
		t.Errorf("%s is not up to date, see its third line (-want +got):\n%s", reference, diff)
	}
}

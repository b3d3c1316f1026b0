// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the reference of flags anew")

const reference = "../../docs/task-handler.md"

// The reference of flags says what the flags say of themselves.
func TestReference(t *testing.T) {
	t.Parallel()
	var o Options
	var text strings.Builder
	text.WriteString("# Flags of task-handler\n\nThis page is generated from the flags: " +
		"`go -C task-handler test ./options -run TestReference -update`.\n\n" +
		"A value that makes no sense is refused at start.\n\n" +
		"| flag | default | |\n| --- | --- | --- |\n")
	o.Flags().VisitAll(func(f *pflag.Flag) {
		value := "`" + f.DefValue + "`"
		switch {
		case f.Name == "max-concurrent-renders":
			value = "4 × processors"
		case f.DefValue == "":
			value = ""
		}
		fmt.Fprintf(&text, "| `--%s` | %s | %s |\n", f.Name, value, f.Usage)
	})
	if *update {
		if err := os.WriteFile(reference, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text.String(), string(got)); diff != "" {
		t.Errorf("%s is not up to date, see its second line (-want +got):\n%s", reference, diff)
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the reference of flags anew")

const reference = "../../docs/function-runner.md"

// The reference of flags says what the flags say of themselves.
func TestReference(t *testing.T) {
	t.Parallel()
	var o Options
	var text strings.Builder
	text.WriteString("# Flags of function-runner\n\nThis page is generated from the flags: " +
		"`go -C function-runner test ./options -run TestReference -update`.\n\n" +
		"Flags may have one dash or two. A value that makes no sense is refused at start.\n\n" +
		"| flag | default | |\n| --- | --- | --- |\n")
	o.Flags().VisitAll(func(f *pflag.Flag) {
		fmt.Fprintf(&text, "| `--%s` | %s | %s |\n", f.Name, defaultOf(f), f.Usage)
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

func defaultOf(f *pflag.Flag) string {
	switch f.DefValue {
	case "":
		return ""
	case strconv.Itoa(4 * runtime.GOMAXPROCS(0)):
		if f.Name == "max-concurrent-evaluations" {
			return "4 × processors"
		}
	}
	return "`" + f.DefValue + "`"
}

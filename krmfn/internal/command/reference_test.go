// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const reference = "../../../docs/krmfn.md"

// The reference of commands says what the commands say of themselves.
func TestReference(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("# Commands of krmfn\n\nThis page is generated from the commands: " +
		"`go -C krmfn test ./internal/command -run TestReference -update`.\n" +
		"[Runtimes](runtimes.md) says what runs function images.\n")
	for _, name := range []string{"", "render", "eval", "source", "sink", "doc", "functions", "images", "create", "create function", "create image", "top", "doctor", "cache", "cache prune", "version", "completion", "fn"} {
		args := append(strings.Fields(name), "--help")
		help := invocation{args: args}.run(t.Context(), t)
		if help.code != 0 {
			t.Fatalf("krmfn %s exits with %d: %s", args, help.code, help.err)
		}
		fmt.Fprintf(&text, "\n## %s\n\n```\n%s```\n", strings.TrimSpace("krmfn "+name), help.out)
	}
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
		t.Errorf("%s is not up to date, see its third line (-want +got):\n%s", reference, diff)
	}
}

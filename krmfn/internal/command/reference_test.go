// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"os"
	"regexp"
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

var (
	definedFlag = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+)`)
	usedFlag    = regexp.MustCompile(` --([a-z-]+)`)
)

// The examples of a command use flags that it has.
func TestExamplesUseFlagsOfTheCommand(t *testing.T) {
	t.Parallel()
	examples := 0
	for name := range strings.FieldsSeq("render eval source sink doc functions images top doctor version") {
		help := krmfn(t, name, "--help").ok(t).out
		defined := map[string]bool{}
		for _, flag := range definedFlag.FindAllStringSubmatch(help, -1) {
			defined[flag[1]] = true
		}
		for line := range strings.Lines(help) {
			example, _, _ := strings.Cut(line, "|")
			if !strings.HasPrefix(example, "  krmfn "+name+" ") {
				continue
			}
			examples++
			for _, flag := range usedFlag.FindAllStringSubmatch(example, -1) {
				if !defined[flag[1]] {
					t.Errorf("krmfn %s has no flag --%s, which its example uses: %s", name, flag[1], line)
				}
			}
		}
	}
	if examples < 10 {
		t.Errorf("found %d examples, want at least 10", examples)
	}
}

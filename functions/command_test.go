// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// command runs the multi-call executable's Command.
func command(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = Command(args, strings.NewReader(stdin), &out, &err)
	return code, out.String(), err.String()
}

func TestCommandIsAFunction(t *testing.T) {
	t.Parallel()
	input := functiontest.List("- {kind: A}\n", "data: {a: b}")
	want := functiontest.List("- {kind: A}\n", "data: {a: b}") + "results:\n- message: no matches for input setter(s)\n"
	for name, args := range map[string][]string{
		"through a link":      {"/somewhere/apply-setters"},
		"through an .exe":     {"apply-setters.exe"},
		"by an argument":      {"functions", "apply-setters"},
		"by an absolute path": {"/usr/bin/functions", "apply-setters"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := command(input, args...)
			if code != 0 || stderr != "" {
				t.Errorf("exit code %d, stderr %q", code, stderr)
			}
			if diff := cmp.Diff(want, stdout); diff != "" {
				t.Errorf("stdout (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCommandLists(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := command("", "functions", "list")
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if code != 0 || stderr != "" || len(lines) != len(All()) {
		t.Errorf("exit code %d, stderr %q, %d lines for %d functions", code, stderr, len(lines), len(All()))
	}
	for i, f := range All() {
		if want := f.Name + " " + f.Version; lines[i] != want {
			t.Errorf("line %d = %q, want %q", i+1, lines[i], want)
		}
	}
	if code, stdout, _ := command("", "functions", "config"); code != 0 || !strings.Contains(stdout, "set-labels") {
		t.Errorf("config: exit code = %d, stdout = %q", code, stdout)
	}
}

func TestCommandDescribes(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := command("", "functions", "describe")
	var got function.Set
	if err := json.Unmarshal([]byte(stdout), &got); code != 0 || stderr != "" || err != nil {
		t.Fatalf("exit code %d, stderr %q, error %v", code, stderr, err)
	}
	want := make(function.Set, 0, len(All()))
	for _, f := range All() {
		want = append(want, function.Function{Name: f.Name, Version: f.Version, Releases: f.Releases, Stands: f.Stands})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("functions (-want +got):\n%s", diff)
	}
}

func TestCommandRejectsArguments(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args   []string
		stderr string
	}{
		"nothing":              {nil, usage},
		"no command":           {[]string{"functions"}, usage},
		"an unknown command":   {[]string{"functions", "frob"}, "invalid command \"frob\"\n" + usage},
		"link without where":   {[]string{"functions", "link"}, "invalid command \"link\"\n" + usage},
		"list with a question": {[]string{"functions", "list", "what"}, "invalid command \"list what\"\n" + usage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := command("", test.args...)
			if code != 1 || stdout != "" {
				t.Errorf("exit code = %d, stdout = %q, want 1 and no output", code, stdout)
			}
			if diff := cmp.Diff(test.stderr, stderr); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
		})
	}
	if code, stdout, stderr := command("", "functions", "--help"); code != 0 || stdout != usage || stderr != "" {
		t.Errorf("--help: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestCommandLinks(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "here")
	for range 2 { // the second time over the existing links
		if code, _, stderr := command("", "functions", "link", dir); code != 0 || stderr != "" {
			t.Fatalf("exit code %d, stderr %q", code, stderr)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range All() {
		if target, err := os.Readlink(filepath.Join(dir, f.Name)); err != nil || target != self {
			t.Errorf("%s links to %q, %v; want %q", f.Name, target, err, self)
		}
	}

	taken := filepath.Join(dir, "set-labels")
	if err := os.Remove(taken); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := command("", "functions", "link", dir)
	want := "link set-labels: " + taken + " exists and is not a symbolic link: remove it or choose another directory\n"
	if code != 1 || stderr != want {
		t.Errorf("exit code %d, stderr %q, want 1, %q", code, stderr, want)
	}
	if code, _, stderr := command("", "functions", "link", taken); code != 1 || stderr == "" {
		t.Errorf("link in a file: exit code = %d, stderr = %q, want 1 and an error", code, stderr)
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/krmfn/internal/report"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/render/packages"
)

var diffChanges = []packages.Change{
	{Path: "added.yaml", After: []byte("kind: A\n")},
	{Path: "d/changed.yaml", Before: []byte("a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6\n"), After: []byte("a: 1\nb: 2\nc: 3\nd: 4\ne: \x1b[31m\nf: 6")},
	{Path: "deleted.yaml", Before: []byte("kind: D\n")},
}

const wantDiff = `--- /dev/null
+++ b/added.yaml
@@ -0,0 +1,1 @@
+kind: A
--- a/d/changed.yaml
+++ b/d/changed.yaml
@@ -2,5 +2,5 @@
 b: 2
 c: 3
 d: 4
-e: 5
-f: 6
+e: ` + "\x1b[31m" + `
+f: 6
\ No newline at end of file
--- a/deleted.yaml
+++ /dev/null
@@ -1,1 +0,0 @@
-kind: D
`

func TestWriteDiff(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := report.WriteDiff(terminal.Stream{Writer: &b}, diffChanges); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(wantDiff, b.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestWriteDiffOnTerminal(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	out, err := terminal.Stream{Writer: &b, Width: func() int { return 80 }}.Coloured(terminal.Always, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := report.WriteDiff(out, diffChanges[1:2]); err != nil {
		t.Fatal(err)
	}
	s := out.Style
	want := s.Bold("--- a/d/changed.yaml") + "\n" + s.Bold("+++ b/d/changed.yaml") + "\n" + s.Cyan("@@ -2,5 +2,5 @@") + "\n b: 2\n c: 3\n d: 4\n" +
		s.Red("-e: 5") + "\n" + s.Red("-f: 6") + "\n" + s.Green("+e: \uFFFD[31m") + "\n" + s.Green("+f: 6") + "\n\\ No newline at end of file\n"
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestDiffOfNothing(t *testing.T) {
	t.Parallel()
	if text := report.Diff(packages.Change{Path: "a", Before: []byte("x\n"), After: []byte("x\n")}); text != "" {
		t.Errorf("got %q", text)
	}
}

// A hunk counts what the hunks before it added, or patch(1) puts it in the wrong place.
func TestDiffLineNumbers(t *testing.T) {
	t.Parallel()
	lines := func(first string) []byte { return []byte(first + strings.Repeat("x\n", 20) + "end\n") }
	got := report.Diff(packages.Change{Path: "a", Before: lines("one\n"), After: append(lines("one\ntwo\nthree\n"), "more\n"...)})
	for _, want := range []string{"@@ -1,4 +1,6 @@\n", "@@ -20,3 +22,4 @@\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestWriteDiffError(t *testing.T) {
	t.Parallel()
	if err := report.WriteDiff(terminal.Stream{Writer: brokenPipe{}}, diffChanges); err == nil {
		t.Error("no error")
	}
}

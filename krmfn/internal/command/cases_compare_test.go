// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	imageref "github.com/krmfn/krmfn/services/images/reference"
)

// comparison is one of what a program did with what the case expects.
type comparison struct {
	*testCase
	tool     tool
	problems []string
}

func (r *comparison) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// compareStreams compares the exit code and the streams, of which a case has parts.
func (r *comparison) compareStreams(got outcome) {
	if got.code != r.ExitCode {
		r.problem("exit code %d, want %d; standard error:\n%s", got.code, r.ExitCode, got.err)
	}
	out, stderr := got.out, strip(got.err, r.StdErrStrip)
	if r.tool.released {
		out, stderr = catalogOfToday(out), catalogOfToday(stderr)
	}
	r.contains("standard output", out, r.StdOut)
	if r.tool.released && r.TestType == "" && !r.has("exec.sh") {
		// Its lines about packages and functions are others.
		return
	}
	r.contains("standard error", stderr, r.StdErr)
	if !regexp.MustCompile(r.StdErrRegEx).MatchString(stderr) {
		r.problem("%s does not match the standard error:\n%s", r.StdErrRegEx, stderr)
	}
}

func (r *comparison) contains(title, got, want string) {
	if !strings.Contains(got, want) {
		r.problem("%s is\n%s\nwithout\n%s", title, got, want)
	}
}

// catalogOfToday replaces the catalog that releases of kpt use for images without a registry.
func catalogOfToday(text string) string {
	return strings.ReplaceAll(text, imageref.FormerCatalogPrefix+"/", imageref.CatalogPrefix+"/")
}

// compareFile compares with a file of what is expected; none means nothing. stripped, unless nil, leaves out what does not count.
func (r *comparison) compareFile(name, got string, stripped func(string) string) {
	if stripped == nil {
		stripped = func(text string) string { return text }
	}
	got = stripped(got)
	if *update && !r.tool.released && (r.has(name) || got != "") {
		if err := r.record(name, []byte(got)); err != nil {
			r.problem("%v", err)
		}
	}
	content, err := os.ReadFile(r.expected(name))
	if err != nil && !os.IsNotExist(err) {
		r.problem("%v", err)
	}
	want := stripped(string(content))
	if r.tool.released && name == "diff.patch" {
		got, want = withoutStatus(got), withoutStatus(want)
	}
	if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" {
		r.problem("%s (-want +got):\n%s", name, diff)
	}
}

// withoutStatus leaves the Kptfile out of a diff, in which releases of kpt do not write how a render went.
func withoutStatus(diff string) string {
	var kept strings.Builder
	for i, section := range strings.Split(diff, "diff --git ") {
		if i > 0 && !strings.HasPrefix(section, "a/Kptfile ") {
			kept.WriteString("diff --git " + section)
		}
	}
	return kept.String()
}

// record updates a file with an expected result, also in the archive.
func (c *testCase) record(name string, content []byte) error {
	if err := os.WriteFile(c.expected(name), content, 0o600); err != nil || c.archive == "" {
		return err
	}
	archive, err := txtar.ParseFile(c.archive)
	if err != nil {
		return err
	}
	name = path.Join(expectedDir, name)
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		i = len(archive.Files)
		archive.Files = append(archive.Files, txtar.File{Name: name})
	}
	archive.Files[i].Data = content
	return os.WriteFile(c.archive, txtar.Format(archive), 0o600)
}

// stripDiff leaves out the lines of a diff that the case says, and what depends on them.
func (c *testCase) stripDiff(diff string) string {
	if c.DiffStripRegEx == "" {
		return diff
	}
	stripped := regexp.MustCompile(c.DiffStripRegEx)
	var lines []string
	for line := range strings.Lines(diff) {
		switch {
		case stripped.MatchString(line):
			continue
		case strings.HasPrefix(line, "index "):
			line = "index NORMALIZED\n"
		case strings.HasPrefix(line, "@@ "):
			line = "@@ NORMALIZED @@\n"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "")
}

// strip leaves out lines that have one of some texts.
func strip(text string, without []string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if !slices.ContainsFunc(without, func(w string) bool { return strings.Contains(line, w) }) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// normal takes what differs from run to run out of a standard error: the temporary directory, and the times of functions
// whose names have no space.
func normal(text, temporary string) string {
	text = strings.ReplaceAll(text, temporary+"/", "")
	var lines []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 4 && (fields[0] == "[PASS]" || fields[0] == "[FAIL]") && fields[2] == "in" {
			line = strings.Join(append(fields[:3], "0s\n"), " ")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "")
}

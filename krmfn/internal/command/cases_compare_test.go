// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// compareStreams compares the streams, of which a case has parts.
func (c *testCase) compareStreams(t *testing.T, stdout, stderr string) {
	t.Helper()
	stderr = strip(stderr, c.StdErrStrip)
	contains(t, stderr, c.StdErr)
	contains(t, stdout, c.StdOut)
	if !regexp.MustCompile(c.StdErrRegEx).MatchString(stderr) {
		t.Errorf("%s does not match:\n%s", c.StdErrRegEx, stderr)
	}
}

// compare compares with a file of what is expected; none means nothing.
func (c *testCase) compare(t *testing.T, name, got string) {
	t.Helper()
	if *update && (c.has(name) || got != "") {
		if err := c.record(name, []byte(got)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(c.expected(name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(c.stripDiff(string(want))), strings.TrimSpace(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// record writes a file of what is expected anew, in the archive too.
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

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
)

// evidence matches a link to a test. The link's text is the name of a test function or the quoted text of a spec.
var evidence = regexp.MustCompile(`\[("[^\]]+"|(?:Test|Fuzz)[A-Za-z0-9_]+)\]\(([^)]+\.go)\)`)

// Renaming or deleting a test that the threat model refers to requires a change of the threat model.
func TestThreatModelNamesTests(t *testing.T) {
	t.Parallel()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	checkout := os.DirFS(root)
	page, err := fs.ReadFile(checkout, "docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	found := evidence.FindAllStringSubmatch(string(page), -1)
	if len(found) < 40 {
		t.Errorf("found %d links to tests, want at least 40", len(found))
	}
	for _, link := range found {
		file := path.Join("docs", link[2])
		source, err := fs.ReadFile(checkout, file)
		if err != nil {
			t.Error(err)
			continue
		}
		name := "func " + link[1] + "("
		if strings.HasPrefix(link[1], `"`) {
			name = "It(" + link[1]
		}
		if !strings.Contains(string(source), name) {
			t.Errorf("%s has no test %s", file, link[1])
		}
	}
}

// Each attack in the tables links to a test in the last of the three columns.
func TestThreatModelIsTested(t *testing.T) {
	t.Parallel()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := fs.ReadFile(os.DirFS(root), "docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	tested, attacks := false, 0
	for line := range strings.Lines(string(page)) {
		switch {
		case strings.HasPrefix(line, "| attack"):
			tested = true
		case !strings.HasPrefix(line, "|"):
			tested = false
		case tested && !strings.HasPrefix(line, "| ---"):
			attacks++
			if !evidence.MatchString(line) {
				t.Errorf("no link to a test in row %s", line)
			}
		}
	}
	if attacks < 30 {
		t.Errorf("found %d attacks, want at least 30", attacks)
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package docs_test tests the documentation in the checkout.
package docs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
)

// pages are patterns of the files whose links the tests check.
var pages = []string{"*.md", "docs/*.md", "charts/krmfn/*.md", "functions/*.md", "functions/*/*.md", "e2e/*.md", "e2e/*/*.md"}

func TestLinks(t *testing.T) {
	t.Parallel()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	checkout, files := os.DirFS(root), 0
	for _, pattern := range pages {
		names, err := fs.Glob(checkout, pattern)
		if err != nil {
			t.Fatal(err)
		}
		files += len(names)
		for _, name := range names {
			for _, problem := range check(t, checkout, name) {
				t.Errorf("%s: %s", name, problem)
			}
		}
	}
	if files < 20 {
		t.Errorf("checked %d files, want at least 20: are the patterns in pages correct?", files)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	checkout := fstest.MapFS{
		"README.md": {Data: []byte(`# Top
[there](docs/page.md), [place](docs/page.md#a--b-c_d), [again](docs/page.md#twice-1), [folder](docs), [here](#top),
[elsewhere](https://example.org/nothing), [docs/page.md](docs/page.md), ![picture](docs/p%20q.svg), <img src="docs/p%20q.svg">
[gone](docs/gone.md) [no place](docs/page.md#gone) [no place](#gone) [above](../up.md) [no page](docs/p%20q.svg#x)
` + "`[code](gone.md)`" + `
` + "```" + `
# not a place
[block](gone.md)
` + "```" + `
[not a place](#not-a-place) <img src="gone.svg">
`)},
		"docs/page.md": {Data: []byte("# A & `b` C_d\n## Twice\n### Twice ###\n[back](../README.md#top)\n")},
		"docs/p q.svg": {},
	}
	want := []string{
		"[docs/page.md]( is the name of a file: use the title of the page",
		"docs/gone.md: docs/gone.md is not there",
		"docs/page.md#gone: docs/page.md has no heading of that name",
		"#gone: README.md has no heading of that name",
		"../up.md: it leads out of the checkout",
		"docs/p%20q.svg#x: docs/p q.svg has no headings",
		"#not-a-place: README.md has no heading of that name",
		"gone.svg: gone.svg is not there",
	}
	if diff := cmp.Diff(want, check(t, checkout, "README.md")); diff != "" {
		t.Errorf("check() (-want +got):\n%s", diff)
	}
	if got := check(t, checkout, "docs/page.md"); got != nil {
		t.Errorf("check() of a page without problems = %q, want none", got)
	}
}

// The README links to every page of the site's navigation.
func TestReadmeLinksToEveryPage(t *testing.T) {
	t.Parallel()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	checkout := os.DirFS(root)
	var sections []struct {
		Pages []struct {
			File string `json:"file"`
		} `json:"pages"`
	}
	if err := yaml.Unmarshal([]byte(read(t, checkout, "tools/docs/site/data/navigation.yaml")), &sections); err != nil {
		t.Fatal(err)
	}
	if len(sections) == 0 {
		t.Fatal("the navigation has no sections")
	}
	linked := links(read(t, checkout, "README.md"))
	for _, section := range sections {
		for _, page := range section.Pages {
			if page.File != "README.md" && !slices.Contains(linked, page.File) {
				t.Errorf("README.md has no link to %s", page.File)
			}
		}
	}
}

// check returns the problems of a page's links: first problems of the texts, then problems of targets in the same checkout.
func check(t *testing.T, checkout fs.FS, page string) []string {
	t.Helper()
	var problems []string
	for _, found := range fileName.FindAllString(block.ReplaceAllString(read(t, checkout, page), ""), -1) {
		problems = append(problems, found+" is the name of a file: use the title of the page")
	}
	for _, l := range links(read(t, checkout, page)) {
		target, err := url.Parse(l)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if target.IsAbs() {
			continue
		}
		file := page
		if target.Path != "" {
			file = path.Join(path.Dir(page), target.Path)
		}
		if problem := wrong(t, checkout, file, target.Fragment); problem != "" {
			problems = append(problems, l+": "+problem)
		}
	}
	return problems
}

func wrong(t *testing.T, checkout fs.FS, file, fragment string) string {
	t.Helper()
	if !fs.ValidPath(file) {
		return "it leads out of the checkout"
	}
	if _, err := fs.Stat(checkout, file); errors.Is(err, fs.ErrNotExist) {
		return file + " is not there"
	} else if err != nil {
		return err.Error()
	}
	switch {
	case fragment == "":
		return ""
	case path.Ext(file) != ".md":
		return file + " has no headings"
	case !slices.Contains(anchors(read(t, checkout, file)), fragment):
		return file + " has no heading of that name"
	}
	return ""
}

func read(t *testing.T, checkout fs.FS, file string) string {
	t.Helper()
	text, err := fs.ReadFile(checkout, file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	block  = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")
	inline = regexp.MustCompile("`[^`\n]*`")
	// fileName matches the text of a link to a page, if the text is a file name.
	fileName = regexp.MustCompile(`\[[^][]*\.md\]\(`)
	link     = regexp.MustCompile(`\]\(([^()\s]+)\)|(?:href|src)="([^"]*)"`)
	title    = regexp.MustCompile(`(?m)^#{1,6} +(.*?)[ #]*$`)
)

// links returns the targets of the links in a page. Code blocks and inline code are ignored.
func links(text string) []string {
	text = inline.ReplaceAllString(block.ReplaceAllString(text, ""), "")
	var targets []string
	for _, found := range link.FindAllStringSubmatch(text, -1) {
		targets = append(targets, found[1]+found[2])
	}
	return targets
}

// anchors returns the anchors that GitHub generates for a page's headings.
func anchors(text string) []string {
	var names []string
	times := map[string]int{}
	for _, found := range title.FindAllStringSubmatch(block.ReplaceAllString(text, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, found[1])
		times[name]++
		if n := times[name] - 1; n > 0 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		names = append(names, name)
	}
	return names
}

var label = regexp.MustCompile(`Label\(([^)]*)\)`)

// CONTRIBUTING.md explains each label of the suites.
func TestLabels(t *testing.T) {
	t.Parallel()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	checkout := os.DirFS(root)
	explained, err := fs.ReadFile(checkout, "CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	suites, err := fs.Glob(checkout, "e2e/suites/*/*.go")
	if err != nil || len(suites) == 0 {
		t.Fatal("no suites in e2e/suites:", err)
	}
	for _, suite := range suites {
		text, err := fs.ReadFile(checkout, suite)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range label.FindAllStringSubmatch(string(text), -1) {
			for name := range strings.SplitSeq(match[1], ", ") {
				if !strings.Contains(string(explained), "| `"+strings.Trim(name, `"`)+"` |") {
					t.Errorf("%s has the label %s, which CONTRIBUTING.md does not explain", suite, name)
				}
			}
		}
	}
}

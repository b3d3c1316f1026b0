// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package site checks the built documentation site in a browser, at the widths of a laptop and of a phone.
package site

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

// limit is the time limit for a run of the browser.
const limit = 2 * time.Minute

// widths are the widths of a laptop and of a phone in pixels.
var widths = []string{"1280", "390"}

//go:embed check.html check.js
var checker embed.FS

// result is the JSON that check.js posts.
type result struct {
	Checked  int      `json:"checked"`
	Problems []string `json:"problems"`
}

// Pages fit on the screen, or show that they scroll.
func TestSite(t *testing.T) {
	t.Parallel()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	site := os.DirFS(filepath.Join(root, "build", "docs"))
	pages, err := fs.Glob(site, "*.html")
	if err != nil || len(pages) < 20 {
		t.Fatalf("found %d pages, want at least 20 (%v): run make docs", len(pages), err)
	}
	for _, problem := range check(t, site, pages) {
		t.Error(problem)
	}
}

// TestScreenshots writes screenshots of some pages to build/site for reviewers.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	path, err := browser()
	if err != nil {
		t.Fatal(err)
	}
	pictures := filepath.Join(root, "build", "site")
	if err := os.MkdirAll(pictures, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for _, page := range []string{"index", "operate", "performance"} {
		for _, width := range widths {
			file := filepath.Join(pictures, page+"-"+width+".png")
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
			if _, err := command.Output(start(ctx, t, path, "--window-size="+width+",2400", "--screenshot="+file, "file://"+filepath.Join(root, "build", "docs", page+".html"))); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(file); err != nil || info.Size() == 0 {
				t.Errorf("screenshot %s: %v", file, err)
			}
		}
	}
}

// The check detects each kind of problem.
func TestCheck(t *testing.T) {
	t.Parallel()
	const menu = `<nav class="menu"><details open><a aria-current="page" href="/">here</a></details></nav>`
	const wide = `<div style="width: 2000px">wide</div>`
	cases := map[string]struct{ body, want string }{
		"nothing.html":                {menu + `<main><pre style="overflow-x: auto; mask-image: linear-gradient(red, red)">` + wide + `</pre></main>`, ""},
		"a-wide-page.html":            {menu + wide, "the page is 2000 px wide"},
		"code-that-is-cut-off.html":   {menu + `<main><pre style="overflow: hidden">` + wide + `</pre></main>`, `PRE "wide" is cut off`},
		"code-without-a-hint.html":    {menu + `<main><pre style="overflow-x: auto">` + wide + `</pre></main>`, `PRE "wide" does not show that it scrolls`},
		"a-table-without-a-box.html":  {menu + `<main><table><tr><td>a</td></tr></table></main>`, `table "a" is in no scroll container`},
		"a-narrow-first-column.html":  {menu + `<main><div class="scrolls"><table><tr><td style="max-width: 50px">two or more lines</td><td>b</td></tr></table></div></main>`, "the first column is 52 px wide"},
		"a-wide-first-column.html":    {menu + `<main><div class="scrolls" style="overflow-x: auto; mask-image: linear-gradient(red, red)"><table><tr><td style="min-width: 900px">a</td><td style="min-width: 900px">b</td></tr></table></div></main>`, "the first column fills the screen"},
		"small-text.html":             {menu + `<p style="font-size: 11px">small</p>`, `the text "small" has 11 px`},
		"a-small-picture.html":        {menu + `<main><img width="100" src="picture.svg"></main>`, "the text of the picture picture.svg has 1.3 px"},
		"no-navigation.html":          {`<p>text</p>`, "there is no navigation"},
		"an-unfolded-navigation.html": {`<nav class="menu">` + strings.Repeat(`<a href="/">page</a>`, 40) + `</nav>`, "the navigation shows 40 of 40 links"},
		"another-section-open.html":   {`<nav class="menu"><details open><a href="/">page</a></details><details><a aria-current="page" href="/">here</a></details></nav>`, "does not have exactly the section"},
	}
	site := fstest.MapFS{
		"picture.svg": {Data: []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 100"><style>text { font: bold 13px sans-serif }</style></svg>`)},
	}
	for page, tc := range cases {
		site[page] = &fstest.MapFile{Data: []byte("<!doctype html><style>body { margin: 0 }</style>" + tc.body)}
	}
	problems := map[string]string{}
	for _, problem := range check(t, site, slices.Sorted(maps.Keys(cases)), "1280") {
		page, what, _ := strings.Cut(problem, " at 1280 px: ")
		problems[page] += what
	}
	for page, tc := range cases {
		if got := problems[page]; tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("check() of %s = %q, want %q", page, got, tc.want)
		}
	}
}

// check returns the problems of a site's pages at the given widths. No widths mean all widths.
func check(t *testing.T, site fs.FS, pages []string, at ...string) []string {
	t.Helper()
	if len(at) == 0 {
		at = widths
	}
	path, err := browser()
	if err != nil {
		t.Fatal(err)
	}
	results := make(chan result, 1)
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServerFS(site))
	mux.Handle("/check/", http.StripPrefix("/check/", http.FileServerFS(checker)))
	mux.HandleFunc("POST /result", func(_ http.ResponseWriter, r *http.Request) {
		var posted result
		if err := json.NewDecoder(r.Body).Decode(&posted); err != nil {
			posted.Problems = append(posted.Problems, fmt.Sprintf("result of check.js: %v", err))
		}
		results <- posted
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	query := url.Values{"page": pages, "width": at}
	run := start(ctx, t, path, "--window-size=1280,1400", server.URL+"/check/check.html?"+query.Encode())
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); err = run.Wait() }()
	defer func() { cancel(); <-ended }()
	select {
	case got := <-results:
		if diff := cmp.Diff(len(pages)*len(at), got.Checked); diff != "" {
			t.Errorf("checked pages (-want +got):\n%s", diff)
		}
		return got.Problems
	case <-ended:
		t.Fatalf("the browser ended before it had checked all pages: %v", err)
	case <-ctx.Done():
		t.Fatal("the browser has not checked all pages in time")
	}
	return nil
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command checksite checks the built documentation site in a directory: links must lead to existing files and anchors, and pages must not
// load files from other hosts.
package main

import (
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: checksite DIRECTORY")
		os.Exit(2)
	}
	problems, err := check(os.DirFS(os.Args[1]))
	for _, problem := range problems {
		fmt.Fprintln(os.Stderr, problem)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || len(problems) > 0 {
		os.Exit(1)
	}
}

var (
	tag       = regexp.MustCompile(`<([a-z][a-z0-9]*)\s[^>]*>`)
	attribute = regexp.MustCompile(`\s(id|href|src)="([^"]*)"`)
)

// page holds the anchors and the links of a page.
type page struct {
	ids   []string
	links []string
	// loads are the URLs that a browser requests to show the page.
	loads []string
}

// check returns the problems of a site, sorted. A site without pages is an error.
func check(site fs.FS) ([]string, error) {
	names, err := fs.Glob(site, "*.html")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("the site has no pages: build it first")
	}
	pages := map[string]page{}
	for _, name := range names {
		text, err := fs.ReadFile(site, name)
		if err != nil {
			return nil, err
		}
		pages[name] = parse(string(text))
	}
	var problems []string
	for name, p := range pages {
		for _, link := range append(p.links, p.loads...) {
			if problem := problemOf(site, pages, name, link); problem != "" {
				problems = append(problems, fmt.Sprintf("%s: %s: %s", name, link, problem))
			}
		}
		for _, load := range p.loads {
			if u, err := url.Parse(load); err == nil && u.Host != "" {
				problems = append(problems, fmt.Sprintf("%s: %s: the page loads a file from another host", name, load))
			}
		}
	}
	slices.Sort(problems)
	return slices.Compact(problems), nil
}

func parse(text string) page {
	var p page
	for _, t := range tag.FindAllStringSubmatch(text, -1) {
		for _, a := range attribute.FindAllStringSubmatch(t[0], -1) {
			value := html.UnescapeString(a[2])
			switch {
			case a[1] == "id":
				p.ids = append(p.ids, value)
			case a[1] == "src" || t[1] == "link":
				p.loads = append(p.loads, value)
			default:
				p.links = append(p.links, value)
			}
		}
	}
	return p
}

// problemOf returns the problem of a link, or "". It does not check links to other sites.
func problemOf(site fs.FS, pages map[string]page, from, link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return err.Error()
	}
	if u.Scheme != "" || u.Host != "" {
		return ""
	}
	file := from
	if u.Path != "" {
		file = strings.TrimPrefix(path.Join("/", path.Dir(from), u.Path), "/")
	}
	if _, err := fs.Stat(site, file); err != nil {
		return "the file does not exist"
	}
	if u.Fragment != "" && !slices.Contains(pages[file].ids, u.Fragment) {
		return "the page has no such anchor"
	}
	return ""
}

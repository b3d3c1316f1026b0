// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// command is the command that readers type. cut marks omitted lines.
	command, cut = "$ make demo", "⋮"
	// file is the file whose changes the picture shows.
	file = "config.yaml"
	// diff is the prefix of the first line of a file's changes.
	diff = "--- a/"
	// indented is the prefix of messages from functions.
	indented = "      "
)

// line is a line on a terminal, as HTML.
type line string

var tag = regexp.MustCompile(`<[^>]*>`)

// text returns the line without styles.
func (l line) text() string { return html.UnescapeString(tag.ReplaceAllString(string(l), "")) }

// varying lists patterns of text that differs between runs, and fixed replacements.
var varying = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`/[^\s<>]*/krmfn-demo-\d+`), "/tmp/demo"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:9445"},
	// The width of a table column depends on its content.
	{regexp.MustCompile(`TIME(</span>)? +(<span [^>]*>)?RESULTS`), "TIME$1   ${2}RESULTS"},
	{regexp.MustCompile(`\b\d+(\.\d+)?m?s +(\d+ info)`), "10ms   $2"},
	{regexp.MustCompile(`\b\d+(\.\d+)?m?s *(</span>)?$`), "10ms$2"},
}

// scene returns the lines for the picture, with fixed values in place of text that differs between runs. It fails if the output lacks the
// changes that the picture shows.
func scene(lines []line) ([]line, error) {
	changes := slices.IndexFunc(lines, starts(diff))
	begin := slices.IndexFunc(lines, starts(diff+file))
	end := slices.IndexFunc(lines, func(l line) bool { return strings.Contains(l.text(), "files changed: ") })
	if changes < 0 || begin < 0 || end < begin {
		return nil, fmt.Errorf("the output of the demo lacks the changes of %s or the number of changed files", file)
	}
	next := end
	if another := slices.IndexFunc(lines[begin+1:end], starts(diff)); another >= 0 {
		next = begin + 1 + another
	}
	return tidy(slices.Concat([]line{command}, few(lines[:changes]), []line{cut}, lines[begin:next], []line{cut}, lines[end:])), nil
}

func starts(prefix string) func(line) bool {
	return func(l line) bool { return strings.HasPrefix(l.text(), prefix) }
}

// few shortens messages of more than two lines from a function to their first line.
func few(lines []line) []line {
	var kept []line
	said := 0
	for i, l := range lines {
		if !starts(indented)(l) {
			said = 0
			kept = append(kept, l)
			continue
		}
		said++
		more := i+1 < len(lines) && starts(indented)(lines[i+1])
		switch {
		case said == 1, said == 2 && !more:
			kept = append(kept, l)
		case said == 2:
			kept = append(kept, indented+cut)
		}
	}
	return kept
}

// fit returns the line, cut to the width of the terminal. Lines that are too long end in text without a style.
func (l line) fit() line {
	if utf8.RuneCountInString(l.text()) <= columns {
		return l
	}
	styled := strings.LastIndex(string(l), ">") + 1
	kept := []rune(html.UnescapeString(string(l[styled:])))[:columns-1-utf8.RuneCountInString(l[:styled].text())]
	return l[:styled] + line(html.EscapeString(string(kept))) + "…"
}

// tidy replaces text that differs between runs, cuts lines that are too long, collapses repeated empty lines, and removes empty lines at both ends.
func tidy(lines []line) []line {
	var text strings.Builder
	for _, l := range lines {
		for _, v := range varying {
			l = line(v.pattern.ReplaceAllString(string(l), v.instead))
		}
		text.WriteString(strings.TrimRight(string(l.fit()), " ") + "\n")
	}
	return split(regexp.MustCompile(`\n{3,}`).ReplaceAllString(strings.Trim(text.String(), "\n"), "\n\n"))
}

func split(text string) []line {
	var lines []line
	for one := range strings.SplitSeq(text, "\n") {
		lines = append(lines, line(one))
	}
	return lines
}

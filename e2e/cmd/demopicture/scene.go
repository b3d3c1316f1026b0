// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// command is what a reader types, and cut stands where lines are left out.
	command = "$ make demo"
	cut     = "⋮"
	// file is the file whose changes are shown.
	file = "config.yaml"
	// diff is what the changes of a file begin with.
	diff = "--- a/"
)

// varying is what differs from run to run, and what is put in its place.
var varying = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`/\S*/krmfn-demo-\d+`), "/tmp/demo"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:9445"},
	// A table's columns are as wide as what is in them.
	{regexp.MustCompile(`TIME +RESULTS`), "TIME   RESULTS"},
	{regexp.MustCompile(`\b\d+(\.\d+)?m?s +(\d+ info)`), "10ms   $2"},
	{regexp.MustCompile(`\b\d+(\.\d+)?m?s *$`), "10ms"},
}

// scene returns the lines of the demo that are shown, with what differs from run to run replaced. The error says that the demo
// does not show what the picture is of.
func scene(lines []line) ([]line, error) {
	changes := slices.IndexFunc(lines, starts(diff))
	begin := slices.IndexFunc(lines, starts(diff+file))
	end := slices.IndexFunc(lines, func(l line) bool { return strings.Contains(l.String(), "files changed: ") })
	if changes < 0 || begin < 0 || end < begin {
		return nil, fmt.Errorf("the demo does not show how %s changes, and how many files do", file)
	}
	shown := slices.Concat([]line{plain(command)}, few(lines[:changes]), []line{plain(cut)})
	shown = append(shown, lines[begin])
	for _, l := range lines[begin+1 : end] {
		if starts(diff)(l) {
			break
		}
		shown = append(shown, l)
	}
	shown = append(shown, plain(cut))
	return tidy(append(shown, lines[end:]...)), nil
}

func starts(prefix string) func(line) bool {
	return func(l line) bool { return strings.HasPrefix(l.String(), prefix) }
}

// indented is where what a function has to say begins.
const indented = "      "

// few leaves out what functions have to say, but for the first line of each, where that is more than two lines.
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
			kept = append(kept, plain(indented+cut))
		}
	}
	return kept
}

// tidy replaces what differs from run to run, wraps lines, and leaves one empty line where there are several, and none at the
// end.
func tidy(lines []line) []line {
	var tidied []line
	empty := false
	for _, l := range lines {
		if l = trim(replace(l)); len(l) == 0 {
			empty = true
			continue
		}
		if empty && len(tidied) > 0 {
			tidied = append(tidied, nil)
		}
		empty = false
		tidied = append(tidied, wrap(l)...)
	}
	return tidied
}

// replace replaces what differs from run to run, in the style of its first character.
func replace(l line) line {
	for _, v := range varying {
		text := l.String()
		for _, at := range slices.Backward(v.pattern.FindAllStringSubmatchIndex(text, -1)) {
			first, last := utf8.RuneCountInString(text[:at[0]]), utf8.RuneCountInString(text[:at[1]])
			instead := plain(string(v.pattern.ExpandString(nil, v.instead, text, at)))
			for i := range instead {
				instead[i].style = l[first].style
			}
			l = slices.Concat(l[:first], instead, l[last:])
		}
	}
	return l
}

// trim leaves out spaces at the end.
func trim(l line) line {
	for len(l) > 0 && l[len(l)-1].char == ' ' {
		l = l[:len(l)-1]
	}
	return l
}

// wrap breaks a line where the terminal ends.
func wrap(l line) []line {
	var lines []line
	for ; len(l) > columns; l = l[columns:] {
		lines = append(lines, l[:columns])
	}
	return append(lines, l)
}

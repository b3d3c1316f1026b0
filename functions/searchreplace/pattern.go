// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package searchreplace

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
)

// fieldPattern compiles a pattern of field paths, for matching a path with a dot behind it: elements are separated by
// dots, "*" is any element but that of a list, "**" any number of any elements, and name[2], name[*] and *[2] are elements
// of lists.
func fieldPattern(pattern string) (*regexp.Regexp, error) {
	var text strings.Builder
	text.WriteString(`(?s)\A`)
	for element := range strings.SplitSeq(pattern, ".") {
		if element == "**" {
			text.WriteString(`(?:[^.]*\.)*`)
			continue
		}
		name, index := element, ""
		if at := strings.Index(element, "["); at >= 0 {
			name, index = element[:at], element[at:]
		}
		if name == "*" {
			text.WriteString(`[^.\[]*`)
		} else {
			text.WriteString(regexp.QuoteMeta(name))
		}
		text.WriteString(strings.ReplaceAll(regexp.QuoteMeta(index), `\[\*\]`, `\[[^.\]]*\]`))
		text.WriteString(`\.`)
	}
	text.WriteString(`\z`)
	return regexp.Compile(text.String())
}

// absoluteField returns the elements of a field path that is no pattern, and whether it is none.
func absoluteField(pattern string) ([]string, bool) {
	elements := strings.Split(pattern, ".")
	return elements, !strings.ContainsAny(pattern, "*[") && !slices.Contains(elements, "")
}

// filePattern is a pattern of file paths: "**" is any number of directories; what is between two slashes is as
// [path.Match] has it, and {a,b} is one of several.
type filePattern [][]string

// maxFilePatterns bounds what the braces of a pattern may stand for.
const maxFilePatterns = 1000

func parseFilePattern(pattern string) (filePattern, error) {
	alternatives := []string{pattern}
	var patterns filePattern
	for len(alternatives) > 0 {
		if len(alternatives)+len(patterns) > maxFilePatterns {
			return nil, errors.New("the pattern has too many alternatives")
		}
		first := alternatives[0]
		alternatives = alternatives[1:]
		before, rest, found := strings.Cut(first, "{")
		inside, after, closed := strings.Cut(rest, "}")
		switch {
		case !found:
			elements := strings.Split(first, "/")
			for _, element := range elements {
				if _, err := path.Match(element, ""); err != nil {
					return nil, err
				}
			}
			patterns = append(patterns, elements)
		case !closed || strings.Contains(inside, "{"):
			return nil, path.ErrBadPattern
		default:
			for alternative := range strings.SplitSeq(inside, ",") {
				alternatives = append(alternatives, before+alternative+after)
			}
		}
	}
	return patterns, nil
}

// matches reports whether a slash-separated path is one of the pattern's.
func (p filePattern) matches(file string) bool {
	elements := strings.Split(file, "/")
	return slices.ContainsFunc(p, func(pattern []string) bool { return matchElements(pattern, elements) })
}

// matchElements matches from the start, keeping all places that each part of the pattern can end at, so that it takes
// no longer than the product of both lengths.
func matchElements(pattern, elements []string) bool {
	reached := make([]bool, len(elements)+1)
	reached[0] = true
	for _, part := range pattern {
		next := make([]bool, len(elements)+1)
		for i := range reached {
			switch {
			case part == "**":
				next[i] = reached[i] || i > 0 && next[i-1]
			case i > 0 && reached[i-1]:
				next[i], _ = path.Match(part, elements[i-1])
			}
		}
		reached = next
	}
	return reached[len(elements)]
}

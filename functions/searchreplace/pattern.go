// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package searchreplace

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
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

// filePattern is a pattern of file paths, as [doublestar.Match] has it; "" is none.
type filePattern string

// maxAlternatives bounds what the braces of a pattern may stand for, all of which a match may try.
const maxAlternatives = 1000

func parseFilePattern(pattern string) (filePattern, error) {
	alternatives := 1
	for _, rest, found := strings.Cut(pattern, "{"); found; _, rest, found = strings.Cut(rest, "{") {
		inside, after, _ := strings.Cut(rest, "}")
		if strings.Contains(inside, "{") {
			return "", doublestar.ErrBadPattern
		}
		if alternatives *= 1 + strings.Count(inside, ","); alternatives > maxAlternatives {
			return "", errors.New("the pattern has too many alternatives")
		}
		rest = after
	}
	if !doublestar.ValidatePattern(pattern) {
		return "", doublestar.ErrBadPattern
	}
	return filePattern(pattern), nil
}

// matches reports whether a slash-separated path is one of the pattern's.
func (p filePattern) matches(file string) bool {
	matched, err := doublestar.Match(string(p), file)
	return matched && err == nil
}

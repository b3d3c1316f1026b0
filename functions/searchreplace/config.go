// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package searchreplace

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
)

// search is the parsed functionConfig.
type search struct {
	value    string         // by-value; empty matches any
	regex    *regexp.Regexp // by-value-regex, or nil
	path     string         // by-path; empty matches any
	pattern  *regexp.Regexp // compiled path, or nil
	files    filePattern    // by-file-path, or ""
	put      string         // put-value; empty puts no value
	comment  string         // put-comment; empty puts no comment
	absolute []string       // path of the field to create or set; nil if fields are searched
	left     *int           // remaining bytes for texts and results
}

var searchKeys = []string{"by-value", "by-file-path", "by-value-regex", "by-path", "put-value", "put-comment"}

func searchOf(config *fn.KubeObject) (search, error) {
	data, err := functionconfig.Data(config)
	if err != nil {
		return search{}, err
	}
	if err := checkSearchKeys(config); err != nil {
		return search{}, err
	}
	left := maxText
	s := search{value: data["by-value"], path: data["by-path"], put: data["put-value"], comment: data["put-comment"], left: &left}
	regex, files := data["by-value-regex"], data["by-file-path"]
	if s.value != "" && regex != "" {
		return search{}, fmt.Errorf("only one of %q can be provided", []string{"by-value", "by-value-regex"})
	}
	if regex != "" {
		if s.regex, err = regexp.Compile(regex); err != nil {
			return search{}, err
		}
	}
	if files != "" {
		if s.files, err = parseFilePattern(files); err != nil {
			return search{}, err
		}
	}
	if s.path == "" {
		return s, nil
	}
	if s.pattern, err = fieldPattern(s.path); err != nil {
		return search{}, err
	}
	if elements, ok := absoluteField(s.path); ok && s.put != "" && !s.byValue() {
		s.absolute = elements
	}
	return s, nil
}

func checkSearchKeys(config *fn.KubeObject) error {
	for _, key := range functionconfig.Keys(config) {
		if !slices.Contains(searchKeys, key) {
			return fmt.Errorf("invalid matcher %q, must be one of %q", key, searchKeys)
		}
	}
	return nil
}

func (s search) byValue() bool { return s.value != "" || s.regex != nil }

func (s search) replaces() bool { return s.put != "" || s.comment != "" }

// matchesField reports whether by-path matches a field.
func (s search) matchesField(path string) bool {
	return s.pattern == nil || s.pattern.MatchString(path+".")
}

// matchesScalar reports whether a scalar matches. Without a value and a path, nothing matches.
func (s search) matchesScalar(text, path string) bool {
	switch {
	case s.regex != nil && !s.regex.MatchString(text), s.value != "" && s.value != text:
		return false
	}
	return (s.byValue() || s.pattern != nil) && s.matchesField(path)
}

var captureGroup = regexp.MustCompile(`\$\{(\d+)\}`)

// fill replaces ${1}, ${2} and so on in put with the groups of by-value-regex in the old text. Without by-value-regex, it
// returns put unchanged.
func (s search) fill(put, old string) (string, error) {
	if s.regex == nil {
		return put, nil
	}
	groups := s.regex.FindStringSubmatch(old)
	var err error
	size := 0
	captureGroup.ReplaceAllStringFunc(put, func(reference string) string {
		number, _ := strconv.Atoi(reference[2 : len(reference)-1])
		if number < 1 || number >= len(groups) {
			err = errors.New("unable to resolve capture groups")
			return ""
		}
		size += len(groups[number])
		return ""
	})
	if err != nil {
		return "", err
	}
	if size > *s.left {
		return "", errTooLong
	}
	return captureGroup.ReplaceAllStringFunc(put, func(reference string) string {
		number, _ := strconv.Atoi(reference[2 : len(reference)-1])
		return groups[number]
	}), nil
}

// maxText is the limit in bytes for text that one call puts into fields and results. Each match repeats the text.
const maxText = 64 << 20

var errTooLong = fmt.Errorf("the matches put more than %d MiB of text into fields and results: search for fewer fields or put less", maxText>>20)

// take subtracts the length of texts from the remaining bytes.
func (s search) take(texts ...string) error {
	for _, text := range texts {
		if *s.left -= len(text); *s.left < 0 {
			return errTooLong
		}
	}
	return nil
}

// putText sets the text of a scalar. It keeps quotes and comments. The type of an unquoted scalar is derived from the text,
// except that an empty text is a string and not null.
func putText(scalar *yaml.Node, text string) {
	if text == "" && scalar.Style == 0 {
		scalar.Style = yaml.DoubleQuotedStyle
	}
	scalar.Value, scalar.Tag = text, ""
	scalar.Tag = scalar.ShortTag()
}

// fieldPattern compiles a pattern for field paths, which are matched with a trailing dot. Elements are separated by dots. "*"
// matches any element except list elements, "**" matches any number of elements, and name[2], name[*] and *[2] match list
// elements.
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

// absoluteField returns the elements of a field path. ok is false if the path is a pattern.
func absoluteField(pattern string) ([]string, bool) {
	elements := strings.Split(pattern, ".")
	return elements, !strings.ContainsAny(pattern, "*[") && !slices.Contains(elements, "")
}

// filePattern is a pattern for file paths, in the syntax of [doublestar.Match]; "" means no pattern.
type filePattern string

// maxAlternatives limits the number of combinations of a pattern's braces, because a match may try all of them.
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

// matches reports whether the pattern matches a slash-separated path. An unknown path matches "**/*".
func (p filePattern) matches(file string) bool {
	if file == "" && doublestar.MatchUnvalidated(string(p), "/") {
		return true
	}
	matched, err := doublestar.Match(string(p), file)
	return matched && err == nil
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package searchreplace

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
)

// search is what a functionConfig of search-replace asks for.
type search struct {
	value    string         // by-value; any if empty
	regex    *regexp.Regexp // by-value-regex, or nil
	path     string         // by-path; any if empty
	pattern  *regexp.Regexp // of path, or nil
	files    filePattern    // by-file-path, or ""
	put      string         // put-value; none if empty
	comment  string         // put-comment; none if empty
	absolute []string       // the field that put is to be in, there or not; nil where fields are searched
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
	s := search{value: data["by-value"], path: data["by-path"], put: data["put-value"], comment: data["put-comment"]}
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

// matchesField reports whether a field is at a place that is searched.
func (s search) matchesField(path string) bool {
	return s.pattern == nil || s.pattern.MatchString(path+".")
}

// matchesScalar reports whether a scalar is searched for. Without a value and a place nothing is.
func (s search) matchesScalar(text, path string) bool {
	switch {
	case s.regex != nil && !s.regex.MatchString(text), s.value != "" && s.value != text:
		return false
	}
	return (s.byValue() || s.pattern != nil) && s.matchesField(path)
}

var captureGroup = regexp.MustCompile(`\$\{(\d+)\}`)

// fill replaces ${1}, ${2} and so on in what is put by what the groups of by-value-regex found in the old text. Without
// by-value-regex they mean nothing.
func (s search) fill(put, old string) (string, error) {
	if s.regex == nil {
		return put, nil
	}
	groups := s.regex.FindStringSubmatch(old)
	var err error
	filled := captureGroup.ReplaceAllStringFunc(put, func(reference string) string {
		number, _ := strconv.Atoi(reference[2 : len(reference)-1])
		if number < 1 || number >= len(groups) {
			err = errors.New("unable to resolve capture groups")
			return reference
		}
		return groups[number]
	})
	return filled, err
}

// putText gives a scalar another text. Quotes and comments stay; without quotes, the type is what the text looks like, but
// no text is not null.
func putText(scalar *yaml.Node, text string) {
	if text == "" && scalar.Style == 0 {
		scalar.Style = yaml.DoubleQuotedStyle
	}
	scalar.Value, scalar.Tag = text, ""
	scalar.Tag = scalar.ShortTag()
}

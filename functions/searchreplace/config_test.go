// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package searchreplace

import (
	"strings"
	"testing"
)

func TestFieldPattern(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, path string
		want          bool
	}{
		{"a.b", "a.b", true},
		{"a.b", "a.b.c", false},
		{"a.b", "a", false},
		{"a.*", "a.b", true},
		{"a.*", "a.b[0]", false},
		{"a.*", "a.b.c", false},
		{"a.b*", "a.bc", false},
		{"**", "a[0].b", true},
		{"**.c", "c", true},
		{"**.c", "a.b[1].c", true},
		{"a.**.c", "a.c", true},
		{"a.**.**.c", "a.b.c", true},
		{"a.**", "a", true},
		{"a[1]", "a[1]", true},
		{"a[1]", "a[10]", false},
		{"a[*].b", "a[10].b", true},
		{"*[1]", "a[1]", true},
		{"*[*]", "a", false},
		{"a[*]", "a[1][2]", false},
		{"a[*][2]", "a[1][2]", true},
		{"a.(b", "a.(b", true},
		{"a.", "a", false},
	} {
		pattern, err := fieldPattern(test.pattern)
		if err != nil {
			t.Errorf("fieldPattern(%q) = %v", test.pattern, err)
		} else if got := pattern.MatchString(test.path + "."); got != test.want {
			t.Errorf("%q matches %q: %t", test.pattern, test.path, got)
		}
	}
}

func TestFilePattern(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.yaml", "a.yaml", true},
		{"*.yaml", "d/a.yaml", false},
		{"**/*.yaml", "a.yaml", true},
		{"**/*.yaml", "d/e/a.yaml", true},
		{"d/**", "d/e/a.yaml", true},
		{"d/**/e/**/f", "d/e/x/e/f", true},
		{"d/?.yaml", "d/ab.yaml", false},
		{"[a-c].yaml", "b.yaml", true},
		{"{a,d/b}.yaml", "d/b.yaml", true},
		{"{a,b}/{c,d}", "b/c", true},
		{"{a,b}/{c,d}", "b/e", false},
		{"**", "", true},
		{"**/*", "", true},
		{"**/*.yaml", "", false},
		{"{**,[a-z]}/*", "", true},
		{"*.yaml", "", false},
	} {
		pattern, err := parseFilePattern(test.pattern)
		if err != nil {
			t.Errorf("parseFilePattern(%q) = %v", test.pattern, err)
		} else if got := pattern.matches(test.path); got != test.want {
			t.Errorf("%q matches %q: %t", test.pattern, test.path, got)
		}
	}
	for _, bad := range []string{"[", "{", "{{a}}", strings.Repeat("{a,b}", 20)} {
		if _, err := parseFilePattern(bad); err == nil {
			t.Errorf("parseFilePattern(%q) = nil, want an error", bad)
		}
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package configfile_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/internal/server/configfile"
)

type list struct {
	Name  string `json:"name"`
	Items []struct {
		Key   string         `json:"key"`
		Count int            `json:"count"`
		On    bool           `json:"on"`
		More  map[string]int `json:"more"`
	} `json:"items"`
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text     string
		problems []string
		err      string
	}{
		"all known":          {text: "name: n\nitems:\n- key: k\n  count: 1\n  on: true\n  more: {a: 1}\n"},
		"unknown fields":     {text: "a.b: 1\nitems:\n- {}\n- x: 1\n  y: 2\n", problems: []string{`line 1: unknown field "a.b"`, `line 4: unknown field "items[1].x"`, `line 5: unknown field "items[1].y"`}},
		"wrong case":         {text: "Name: n\n", problems: []string{`line 1: unknown field "Name"`}},
		"below an alias":     {text: "items: &a\n- x: 1\nother: *a\n", problems: []string{`line 2: unknown field "items[0].x"`, `line 3: unknown field "other"`}},
		"not a list":         {text: "name: n\nitems:\n  key: k\n", err: "line 3: items is not a list"},
		"not a string":       {text: "items:\n- key: k\n- key: [k]\n", err: "line 3: items[1].key is not a string"},
		"not a boolean":      {text: "items:\n- on: true\n- on: 1\n", err: "line 3: items[1].on is not true or false"},
		"not a number":       {text: "items:\n- count: one\n", err: "line 2: items[0].count is not a number of type int"},
		"not a mapping":      {text: "- name: n\n", err: "line 1: this is not a mapping"},
		"nested, no mapping": {text: "items:\n- more: 1\n", err: "line 2: items[0].more is not a mapping"},
		"duplicate key":      {text: "name: a\nname: b\n", err: `line 2: mapping key "name" already defined at line 1`},
		"numeric key":        {text: "items:\n- more: {1: 1}\n", err: "line 1: every name in a mapping must be a string, and every number finite: put others in quotes"},
		"recursive anchor":   {text: "items: &a [*a]\n", err: "line 1: anchor 'a' value contains itself"},
		"no YAML":            {text: "name: [\n", err: "line 1: did not find expected node content"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := configfile.Parse([]byte(tc.text))
			var problems []configfile.Problem
			if err == nil {
				problems, err = doc.Decode(new(list))
			}
			var got []string
			for _, p := range problems {
				got = append(got, p.Error())
			}
			if diff := cmp.Diff(tc.problems, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if (err == nil) != (tc.err == "") || err != nil && (err.Error() != tc.err || !errors.As(err, new(configfile.Problem))) {
				t.Errorf("error = %v, want %q", err, tc.err)
			}
		})
	}
}

// A field with a wrong type does not affect other fields.
func TestDecodeFields(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text, name string
		items      int
		problems   []string
		err        string
	}{
		"all fit":              {text: "name: n\nx: 1\nitems: [{}]\n", name: "n", items: 1, problems: []string{`line 2: unknown field "x"`}},
		"one has a wrong type": {text: "items: [{}, {on: 1}]\nx: 1\nname: n\n", name: "n", problems: []string{"line 1: items[1].on is not true or false", `line 2: unknown field "x"`}},
		"below an alias":       {text: "items: &a\n- count: 1\nname: *a\n", items: 1, problems: []string{"line 1: name is not a string"}},
		"duplicate key":        {text: "name: a\nname: b\n", err: `line 2: mapping key "name" already defined at line 1`},
		"not a mapping":        {text: "- name: n\n", err: "line 1: this is not a mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := configfile.Parse([]byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			var into list
			problems, err := configfile.DecodeFields(doc, &into)
			var got []string
			for _, p := range problems {
				got = append(got, p.Error())
			}
			if diff := cmp.Diff(tc.problems, got); diff != "" || into.Name != tc.name || len(into.Items) != tc.items {
				t.Errorf("decoded = %+v; problems (-want +got):\n%s", into, diff)
			}
			if (err == nil) != (tc.err == "") || err != nil && err.Error() != tc.err {
				t.Errorf("error = %v, want %q", err, tc.err)
			}
		})
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": true, "# nothing\n": true, "---\n": true, "~": true, "[]": false, "{}": false, "a": false} {
		if doc, err := configfile.Parse([]byte(text)); err != nil || doc.Empty() != want {
			t.Errorf("Empty() of %q = %v, want %v (error %v)", text, doc.Empty(), want, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("name: n\nitems: [{key: k, x: 1}]\n"))
	f.Add([]byte("items: &a [*a]\n"))
	f.Add([]byte("a: &a {b: 1}\nitems: [{<<: *a}]\n---\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, err := configfile.Parse(text)
		if err != nil || doc.Empty() {
			return
		}
		problems, err := doc.Decode(new(list))
		if err != nil && (len(problems) > 0 || strings.Contains(err.Error(), "\n") || !errors.As(err, new(configfile.Problem))) {
			t.Errorf("error %q with problems %v, want none", err, problems)
		}
	})
}

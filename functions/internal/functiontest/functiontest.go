// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package functiontest evaluates functions in their tests.
package functiontest

import (
	"context"
	_ "embed"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Head is the beginning of every printed ResourceList.
const Head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"

// Pass is a function that does nothing.
var Pass = function.Function{
	Name:    "pass",
	Process: func(context.Context, *fn.ResourceList) (bool, error) { return true, nil },
}

// Case is a call of a function and its expected result.
type Case struct {
	Name   string
	Config string // functionConfig; none if empty
	Items  string // a YAML list; none if empty
	Want   string // the expected result of Evaluate
	Err    string
}

// Failed is the error text of a function whose results describe the failure.
const Failed = "error: function failure"

// EvaluateAll runs each case as a subtest.
func EvaluateAll(t *testing.T, f function.Function, cases []Case) {
	t.Helper()
	for _, test := range cases {
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			out, err := Evaluate(t, f, List(test.Items, test.Config))
			if diff := cmp.Diff(strings.TrimPrefix(test.Want, "\n"), out); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.Err, ErrorText(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// List returns a ResourceList as text.
func List(items, config string) string {
	text := Head
	if items != "" {
		text += "items:\n" + strings.TrimPrefix(items, "\n")
	}
	if config != "" {
		text += "functionConfig:\n" + Indent(config)
	}
	return text
}

// Indent indents YAML by one level.
func Indent(text string) string {
	return "  " + strings.ReplaceAll(strings.Trim(text, "\n"), "\n", "\n  ") + "\n"
}

// Evaluate evaluates a function. It returns the printed list from items on, without the functionConfig, and without items if
// the list is empty.
func Evaluate(t *testing.T, f function.Function, input string) (string, error) {
	t.Helper()
	out, err := function.Run(t.Context(), f, []byte(input))
	if out == nil {
		return "", err
	}
	if _, parseErr := fn.ParseResourceList(out); parseErr != nil {
		t.Fatalf("the output is not a ResourceList: %v\n%s", parseErr, out)
	}
	rest := functionConfig.ReplaceAllString(strings.TrimPrefix(string(out), Head), "")
	return strings.TrimPrefix(rest, "items: []\n"), err
}

// functionConfig matches the functionConfig of a printed list.
var functionConfig = regexp.MustCompile(`(?m)^functionConfig:.*\n(?:(?: .*)?\n)*`)

// ErrorText returns the text of an error, or "" for nil.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// EvaluateTwice checks, for each case without an error, that a second run does not change the output of the first one.
func EvaluateTwice(t *testing.T, f function.Function, cases []Case) {
	t.Helper()
	for _, test := range cases {
		if test.Err != "" {
			continue
		}
		t.Run(test.Name+", twice", func(t *testing.T) {
			t.Parallel()
			first := evaluatedItems(t, f, strings.TrimPrefix(test.Items, "\n"), test.Config)
			second := evaluatedItems(t, f, first, test.Config)
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("items of the second run (-first +second):\n%s", diff)
			}
		})
	}
}

// evaluatedItems returns the function's output items, as a YAML list like its input.
func evaluatedItems(t *testing.T, f function.Function, items, config string) string {
	t.Helper()
	out, err := Evaluate(t, f, List(items, config))
	if err != nil {
		t.Fatal(err)
	}
	items, _, _ = strings.Cut("\n"+out, "\nresults:\n")
	return strings.TrimPrefix(strings.TrimPrefix(items, "\nitems:"), "\n") + "\n"
}

// Package is a package of valid Kubernetes resources.
//
//go:embed package.yaml
var Package string

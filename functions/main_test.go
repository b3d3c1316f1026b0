// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// listHead is how every ResourceList begins that is printed.
const listHead = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"

// pass is a function that does nothing.
var pass = function.Function{
	Name:    "pass",
	Process: func(context.Context, *fn.ResourceList) (bool, error) { return true, nil },
}

// evaluation is one call of a function and what comes of it.
type evaluation struct {
	name   string
	config string // functionConfig; none if empty
	items  string // a YAML list; none if empty
	want   string // the output from items on, without the functionConfig
	err    string
}

// failed is the error of a function that says in its results what is wrong.
const failed = "error: function failure"

// evaluateAll evaluates a function for every case.
func evaluateAll(t *testing.T, name string, cases []evaluation) {
	t.Helper()
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, err := evaluate(t, name, list(test.items, test.config))
			if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), out); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.err, errorText(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// list writes a ResourceList.
func list(items, config string) string {
	text := listHead
	if items != "" {
		text += "items:\n" + strings.TrimPrefix(items, "\n")
	}
	if config != "" {
		text += "functionConfig:\n" + indent(config)
	}
	return text
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.Trim(text, "\n"), "\n", "\n  ") + "\n"
}

// evaluate returns the output from items on, without the functionConfig.
func evaluate(t *testing.T, name, input string) (string, error) {
	t.Helper()
	f, ok := Lookup(name)
	if !ok {
		t.Fatalf("there is no function %q", name)
	}
	out, err := function.Run(t.Context(), f, []byte(input))
	if out == nil {
		return "", err
	}
	rl, parseErr := fn.ParseResourceList(out)
	if parseErr != nil {
		t.Fatalf("the output is no ResourceList: %v\n%s", parseErr, out)
	}
	rl.FunctionConfig = nil
	text, printErr := rl.ToYAML()
	if printErr != nil {
		t.Fatal(printErr)
	}
	return strings.TrimPrefix(string(text), listHead), err
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"
)

// evaluateTwice holds a function to leaving its own output as it is, in every case in which it succeeds.
func evaluateTwice(t *testing.T, name string, cases []evaluation) {
	t.Helper()
	for _, test := range cases {
		if test.err != "" {
			continue
		}
		t.Run(test.name+", twice", func(t *testing.T) {
			t.Parallel()
			first := evaluatedItems(t, name, strings.TrimPrefix(test.items, "\n"), test.config)
			second := evaluatedItems(t, name, first, test.config)
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("items of the second run (-first +second):\n%s", diff)
			}
		})
	}
}

// evaluatedItems returns the items that a function makes of a YAML list of them, as such a list.
func evaluatedItems(t *testing.T, name, items, config string) string {
	t.Helper()
	out, err := evaluate(t, name, list(items, config))
	if err != nil {
		t.Fatal(err)
	}
	rl, err := fn.ParseResourceList([]byte(listHead + out))
	if err != nil {
		t.Fatal(err)
	}
	rl.Results = nil
	text, err := rl.ToYAML()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(strings.TrimPrefix(string(text), listHead), "items:\n")
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"
)

// printedItems are items in all styles of YAML. Each has a placeholder for a number to sort by.
var printedItems = []string{
	"- apiVersion: v1\n  kind: A%d\n  metadata:\n    name: a # line\n",
	"# head\n- apiVersion: v1\n  # inside\n  kind: A%d\n  metadata: {name: a} # line\n",
	"- apiVersion: v1\n  kind: A%d\n  x: |\n    a\n\n    b\n",
	"- apiVersion: v1\n  kind: A%d\n  x: |+\n    a\n\n\n",
	"- apiVersion: v1\n  kind: A%d\n  x: >-\n    a\n    b\n",
	"- {apiVersion: v1, kind: A%d, x: [1, 2]} # line\n",
	"- apiVersion: v1\n  kind: A%d\n  x: [a,\n   # inside\n   b]\n",
	"- apiVersion: v1 # first\n  kind: A%d\n  x: # kpt-set: ${a}\n  - b\n",
	"- apiVersion: v1\n  kind: A%d\n  x: &a\n    b: c\n  y: *a\n",
	"- apiVersion: v1\n  kind: A%d\n  x: \"a\\n\\u2028b\"\n  ? complex\n  : y\n",
	"- apiVersion: v1\n  kind: A%d\n  x:\n    - - a\n      - b\n    -\n      c: d\n    - {}\n    - []\n    - ~\n    -\n",
	"- apiVersion: v1\n  kind: A%d # last\n",
	"- apiVersion: v1\n  kind: A%d\n  x:\n  - a\n  # foot\n",
	"- apiVersion: v1\n  kind: A%d\n  x: b\n\n  # foot\n\n\n",
	"# one\n\n# two\n- # three\n  apiVersion: v1\n  kind: A%d\n  # four\n",
}

func TestPrintEqualsSDK(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		for _, items := range []int{1, 4, 300} {
			t.Run(fmt.Sprintf("%d items, seed %d", items, seed), func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(seed, seed))
				var text strings.Builder
				text.WriteString(listHead + "items:\n")
				for range items {
					fmt.Fprintf(&text, printedItems[random.IntN(len(printedItems))], random.IntN(100))
				}
				if seed%2 == 0 {
					text.WriteString("functionConfig: # line\n  a: b\n")
				}
				if seed%3 == 0 {
					text.WriteString("results:\n- message: m\n")
				}
				rl, err := fn.ParseResourceList([]byte(text.String()))
				if err != nil {
					t.Fatal(err)
				}
				got, err := pass.printList(rl, "")
				if err != nil {
					t.Fatal(err)
				}
				want, err := rl.ToYAML() // the items are sorted already
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), string(got)); diff != "" {
					t.Errorf("printList() differs from the SDK (-SDK +printList):\n%s", diff)
				}
			})
		}
	}
}

func TestSortIsStable(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(listHead + "items:\n")
	for i := range 100 {
		fmt.Fprintf(&text, "- {apiVersion: v1, kind: Kptfile, metadata: {name: k}, i: %d}\n", i)
	}
	out, err := Run(t.Context(), pass, []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text.String(), string(out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

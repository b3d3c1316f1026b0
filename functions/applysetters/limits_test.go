// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package applysetters

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

// Text that setters put into fields is limited before memory is allocated for it.
func TestTextIsBounded(t *testing.T) { //nolint:paralleltest // it measures allocations
	const tooLong = "failed to apply setters: the setters put more than 64 MiB of text into fields and results: shorten their values"
	var doubling strings.Builder
	for i := range 60 {
		fmt.Fprintf(&doubling, "a%02d: '${a%02d}${a%02d}', ", i, i+1, i+1)
	}
	long := strings.Repeat("b", 100_000)
	for name, tc := range map[string]struct{ spec, data, want string }{ //nolint:paralleltest // see above
		"a setter many times":            {"a: b # kpt-set: " + strings.Repeat("${a}", 1000), "{a: " + long + "}", tooLong},
		"setters that refer to others":   {"a: b # kpt-set: ${a00}", "{" + doubling.String() + "a60: b}", tooLong},
		"many fields":                    {strings.Repeat("- b # kpt-set: ${a}\n    ", 1000), "{a: " + long + "}", tooLong},
		"many lists":                     {strings.Repeat("- c: [] # kpt-set: ${a}\n    ", 100), "{a: '[" + long + "]'}", tooLong},
		"the present value, many times":  {"a: " + long + " # kpt-set: ${a}${b}" + strings.Repeat("${b}", 1000), "{a: b}", tooLong},
		"a value that refers to setters": {"a: '${a}${b}${c}${d}' # kpt-set: ${a}${b}", "{a: b}", "failed to apply setters: a field's value refers to more than 3 setters: give their values"},
		"within limits":                  {strings.Repeat("- b # kpt-set: ${a}-${a}\n    ", 100), "{a: c}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			rl, err := fn.ParseResourceList([]byte(functiontest.List("- kind: A\n  spec:\n    "+tc.spec+"\n",
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: "+tc.data)))
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			ok, err := applySetters(t.Context(), rl)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			if got := rl.Results[len(rl.Results)-1].Message; ok != (tc.want == "") || !ok && got != tc.want {
				t.Errorf("applySetters() = %t with %q, want %q", ok, got, tc.want)
			}
			if most := uint64(512 << 20); after.TotalAlloc-before.TotalAlloc > most {
				t.Errorf("the call allocated %d bytes, want at most %d", after.TotalAlloc-before.TotalAlloc, most)
			}
		})
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package searchreplace

import (
	"runtime"
	"strings"
	"testing"

	"github.com/kptdev/krm-functions-sdk/go/fn"
)

// Text that a call puts into fields and results is limited before memory is allocated for it.
func TestTextIsBounded(t *testing.T) { //nolint:paralleltest // it measures allocations
	const tooLong = "the matches put more than 64 MiB of text into fields and results: search for fewer fields or put less"
	values := func(count int) string { return "[" + strings.Repeat("a,", count) + "]" }
	for name, tc := range map[string]struct{ items, data, want string }{ //nolint:paralleltest // see above
		"a group many times":    {strings.Repeat("a", 100_000), "{by-value-regex: (a+), put-value: '" + strings.Repeat("${1}", 1000) + "'}", tooLong},
		"a group in a comment":  {strings.Repeat("a", 100_000), "{by-value-regex: (a+), put-comment: '" + strings.Repeat("${1}", 1000) + "'}", tooLong},
		"a long value":          {values(2000), "{by-value: a, put-value: " + strings.Repeat("b", 100_000) + "}", tooLong},
		"a long path":           {"{? " + strings.Repeat("k", 100_000) + " : " + values(2000) + "}", "{by-value: a}", tooLong},
		"a field of every item": {"a\n- {kind: B}", "{by-path: c, put-value: " + strings.Repeat("b", 40<<20) + "}", tooLong},
		"within limits":         {values(2000), "{by-value: a, put-value: " + strings.Repeat("b", 1000) + "}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			list := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- kind: A\n  spec: " + tc.items +
				"\nfunctionConfig: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: " + tc.data + "}\n"
			rl, err := fn.ParseResourceList([]byte(list))
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			ok, err := searchReplace(t.Context(), rl)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if !ok {
				got = rl.Results[len(rl.Results)-1].Message
			}
			if ok != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("searchReplace() = %t with %q, want %q", ok, got, tc.want)
			}
			if most := uint64(2 << 30); after.TotalAlloc-before.TotalAlloc > most {
				t.Errorf("the call allocated %d bytes, want at most %d", after.TotalAlloc-before.TotalAlloc, most)
			}
		})
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package memo_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/services/evaluation"
)

// BenchmarkHit measures a call whose result is cached.
func BenchmarkHit(b *testing.B) {
	for _, resources := range []int{10, 1000} {
		b.Run(fmt.Sprintf("%d resources", resources), func(b *testing.B) {
			list := "kind: ResourceList\nitems:\n" + strings.Repeat("- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a-name-of-some-length\n    namespace: default\n  data:\n    key: value\n", resources)
			e := newCache(b, 1<<20).Keep("fn", &counted{})
			req := evaluation.Request{Image: "r.io/fn:v1", ResourceList: []byte(list)}
			b.SetBytes(int64(len(list)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Evaluate(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

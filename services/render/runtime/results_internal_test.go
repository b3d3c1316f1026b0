// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/krmfn/krmfn/internal/resourcelist"
)

// resultsOf returns the same results as parsing the printed list.
func TestResultsOfMatchesPrintedList(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "null", "~", "1", " a ", "a\nb\n", " \n a\r\n\tb", "\x85", "\ufeff", "\xff", "!!x", "{a", "\u2028"}))
	value := rapid.OneOf(rapid.Just[any](nil), rapid.Map(text, func(s string) any { return s }), rapid.Just[any](1.5), rapid.Just[any](map[string]any{"a": "b"}))
	result := rapid.Custom(func(t *rapid.T) *fn.Result {
		r := &fn.Result{Message: text.Draw(t, "message"), Severity: fn.Severity(text.Draw(t, "severity"))}
		if rapid.Bool().Draw(t, "ref") {
			r.ResourceRef = &fn.ResourceRef{APIVersion: text.Draw(t, "v"), Kind: text.Draw(t, "k"), Name: text.Draw(t, "n"), Namespace: text.Draw(t, "ns")}
		}
		if rapid.Bool().Draw(t, "field") {
			r.Field = &fn.Field{Path: text.Draw(t, "path"), CurrentValue: value.Draw(t, "current"), ProposedValue: value.Draw(t, "proposed")}
		}
		if rapid.Bool().Draw(t, "file") {
			r.File = &fn.File{Path: text.Draw(t, "path"), Index: rapid.IntRange(-1, 1000).Draw(t, "index")}
		}
		if rapid.IntRange(0, 5).Draw(t, "tags") == 0 {
			r.Tags = map[string]string{text.Draw(t, "key"): text.Draw(t, "value")}
		}
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		list := &fn.ResourceList{Results: rapid.SliceOfN(result, 0, 3).Draw(t, "results")}
		output, err := (&fn.ResourceList{Results: list.Results}).ToYAML()
		if err != nil {
			t.Skip(err)
		}
		want, wantErr := resourcelist.Results(output)
		got, gotErr := resultsOf(list)
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("parsing error %v, resultsOf error %v (-parsed +resultsOf):\n%s", wantErr, gotErr, diff)
		}
	})
}

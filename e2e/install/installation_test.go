// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMerge(t *testing.T) {
	t.Parallel()
	base := map[string]any{"a": map[string]any{"x": 1, "y": []any{1}}, "b": 1}
	got := MergeValues(base, map[string]any{"a": map[string]any{"y": []any{2}, "z": 3}, "c": map[string]any{"d": 1}})
	want := map[string]any{"a": map[string]any{"x": 1, "y": []any{2}, "z": 3}, "b": 1, "c": map[string]any{"d": 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("MergeValues() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"a": map[string]any{"x": 1, "y": []any{1}}, "b": 1}, base); diff != "" {
		t.Errorf("MergeValues() changed its argument (-before +after):\n%s", diff)
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagerevision_test

import (
	"strings"
	"testing"

	"github.com/krmfn/krmfn/services/packagerevision"
)

func TestCommentsAreRestored(t *testing.T) {
	t.Parallel()
	const (
		with     = "# The shop.\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: \"1\" # one\n  y: \"2\" # two\n"
		without  = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: \"3\"\n  y: \"2\"\n"
		restored = "# The shop.\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: \"3\" # one\n  y: \"2\" # two\n"
	)
	for _, tc := range []struct {
		name                string
		before, after, want map[string]string
	}{
		{"in the same file", map[string]string{"a.yaml": with}, map[string]string{"a.yaml": without}, map[string]string{"a.yaml": restored}},
		{
			"of the file",
			map[string]string{"a.yaml": "# Licence\n\n" + without + "\n# end\n"},
			map[string]string{"a.yaml": without},
			map[string]string{"a.yaml": "# Licence\n\n" + without + "\n# end\n"},
		},
		{"in another file", map[string]string{"a.yaml": with}, map[string]string{"b.yaml": without}, map[string]string{"b.yaml": restored}},
		{
			"not of another resource",
			map[string]string{"a.yaml": with},
			map[string]string{"a.yaml": strings.Replace(without, "name: a", "name: b", 1)},
			map[string]string{"a.yaml": strings.Replace(without, "name: a", "name: b", 1)},
		},
		{
			"own comments stay",
			map[string]string{"a.yaml": with},
			map[string]string{"a.yaml": strings.Replace(without, `"3"`, `"3" # three`, 1)},
			map[string]string{"a.yaml": strings.Replace(restored, "# one", "# three", 1)},
		},
		{
			"templates stay as they are",
			map[string]string{"a.yaml": "#@ load\n" + with, "b.yaml": with},
			map[string]string{"a.yaml": without + "#! a template\n"},
			map[string]string{"a.yaml": without + "#! a template\n"},
		},
		{"text files are unchanged", map[string]string{"a.txt": with}, map[string]string{"a.txt": without}, map[string]string{"a.txt": without}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			// Without a Kptfile nothing is rendered.
			draft := packagerevision.NewMemoryDraft(tc.before)
			_, err := handler().ReplaceResources(t.Context(), draft, draftRevision(), tc.after)
			checkError(t, err, "")
			checkFiles(t, "revision", tc.want, draft.Published())
		})
	}
}

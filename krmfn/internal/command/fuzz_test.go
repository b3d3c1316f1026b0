// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"strings"
	"testing"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
)

// Whatever comes in on the standard input or as values, the answer is an output or one line about what is wrong with it.
func FuzzEval(f *testing.F) {
	for _, seed := range []string{
		listInput, configMap, configMap + "---\n" + configMap, "", "---\n", "{}", "[]", "a", "a: [\n", "kind: List\nitems: 5\n", "kind: ResourceList\nitems:\n- 5\n",
		"kind: ResourceList\nfunctionConfig: []\nitems: []\n", configMap + "data: &a\n  b: *a\n", "a: &x [b, {c: *x}]\n", "- a\n- b\n", configMap + "...\n# end\n",
		`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}`, "kind: A\nmetadata: [a]\n", "\xff\xfe", "%YAML 9.9\n---\na: b\n",
	} {
		f.Add(seed, "app=web", false)
		f.Add(seed, "Kind", true)
	}
	f.Fuzz(func(t *testing.T, stdin, value string, unwrap bool) {
		args := []string{"eval", "-q", "--image=set-labels", "-"}
		if unwrap {
			args = append(args, "-o=unwrap")
		}
		got := invocation{args: append(args, "--", value), stdin: stdin}.run(t.Context(), t)
		switch got.code {
		case failure.OK:
		case failure.Failed:
			if !strings.Contains(got.err, "error: ") && !strings.Contains(got.err, "[FAIL]") {
				t.Errorf("nothing says what is wrong: %q", got.err)
			}
		default:
			t.Errorf("exit code %d: %s", got.code, got.err)
		}
	})
}

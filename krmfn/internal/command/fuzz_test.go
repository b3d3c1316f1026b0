// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// What sink has written comes out of source and sink as it is, but for comments between and behind resources, which a
// ResourceList has no place for; and a failure leaves nothing.
func FuzzSink(f *testing.F) {
	for _, seed := range []string{
		listInput, configMap + "---\n" + configMap, "", "a: b\n", "a: [\n", "- a\n", "kind: List\nitems:\n- metadata: {name: a/b, namespace: ..}\n",
		configMap + "  annotations:\n    config.kubernetes.io/path: d/../x.json\n    internal.config.kubernetes.io/index: '9'\n",
		configMap + "  annotations: {config.kubernetes.io/path: a..b.yaml}\n---\n# c\n---\n" + configMap + "  annotations: {internal.config.kubernetes.io/path: ./a..b.yaml}\n",
		"kind: A\nmetadata: [a]\n", "a: &x [b, {c: *x}]\n", "a: b\r\n", "kind: \"a\\0\"\n", configMap + "...\n# end\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stdin string) {
		dir := filepath.Join(t.TempDir(), "out")
		got := invocation{args: []string{"sink", dir}, stdin: stdin}.run(t.Context(), t)
		switch got.code {
		case failure.OK:
		case failure.Failed:
			if _, err := os.Lstat(dir); !os.IsNotExist(err) || !strings.HasPrefix(got.err, "error: ") {
				t.Errorf("the directory gives %v, and the error is %q", err, got.err)
			}
			return
		default:
			t.Fatalf("exit code %d: %s", got.code, got.err)
		}
		before := copied(t, dir)
		if diff := cmp.Diff(snapshot(t, before), snapshot(t, copied(t, before))); diff != "" {
			t.Errorf("what is written again is something else (-before +after):\n%s", diff)
		}
	})
}

// copied returns a copy of a directory by source and sink.
func copied(t *testing.T, dir string) string {
	t.Helper()
	list := krmfn(t, "source", dir).ok(t)
	to := filepath.Join(t.TempDir(), "copy")
	invocation{args: []string{"sink", to}, stdin: list.out}.run(t.Context(), t).ok(t)
	return to
}

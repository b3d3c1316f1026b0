// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/internal/functiontest"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

var update = flag.Bool("update", false, "rewrite the expected files")

func TestRun(t *testing.T) {
	t.Parallel()
	f, _ := functiontest.Functions().Lookup("set-namespace")
	Run(t, f, "testdata", *update)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	setNamespace, _ := functiontest.Functions().Lookup("set-namespace")
	restless := function.Function{Name: "restless", Process: func(_ context.Context, list *fn.ResourceList) (bool, error) {
		item := list.Items[0]
		return true, item.SetName(item.GetName() + "-new")
	}}
	const resource = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
	for name, tc := range map[string]struct {
		f     function.Function
		files map[string]string
		want  string
	}{
		"other output":   {setNamespace, map[string]string{inputFile: resource, expectedFile: "# error: another\n"}, "differs; -update rewrites it"},
		"no expectation": {setNamespace, map[string]string{inputFile: resource}, "run the test with -update to write it"},
		"two configs":    {setNamespace, map[string]string{configFile: resource + "---\n" + resource}, "has 2 documents, want one"},
		"invalid YAML":   {setNamespace, map[string]string{inputFile: "a: [\n"}, inputFile},
		"not idempotent": {restless, map[string]string{inputFile: resource}, "a second run over the output must change nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range tc.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := check(t, tc.f, dir, false); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("check() = %v, want %q", err, tc.want)
			}
		})
	}
}

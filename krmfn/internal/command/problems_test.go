// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
)

// What functions find in files, of packages below too, is listed with the files.
func TestProblems(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, map[string]string{
		"db/Kptfile":      "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: db\n",
		"db/service.yaml": strings.Replace(service, "name: web", "name: db", 1) + "  type: 5\n",
	})
	want := dir + "/db/service.yaml: spec.type: got number, want null or string [error]\n"
	for name, tc := range map[string]struct {
		args []string
		// line says that the line is there.
		line bool
		code int
	}{
		"render":  {args: []string{"render", dir}, line: true, code: failure.Failed},
		"verbose": {args: []string{"render", dir, "-v"}, line: true, code: failure.Failed},
		"quiet":   {args: []string{"render", dir, "-q"}, code: failure.Failed},
		"eval":    {args: []string{"eval", dir, "-i=kubeconform"}, line: true, code: failure.Failed},
	} {
		got := krmfn(t, tc.args...)
		if got.code != tc.code || strings.Contains(got.err, want) != tc.line {
			t.Errorf("%s: exit code %d, and want %q (%v) in\n%s", name, got.code, want, tc.line, got.err)
		}
	}
}

func TestManyProblems(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 30 {
		fmt.Fprintf(&many, "---\n%s  type: %d\n", strings.Replace(service, "name: web", fmt.Sprintf("name: web-%d", i), 1), i)
	}
	dir := newPackage(t, map[string]string{"net/service.yaml": many.String()})
	for flag, want := range map[string]int{"--verbose=false": 20, "--verbose": 30} {
		got := krmfn(t, "render", dir, flag)
		if n := strings.Count(got.err, "spec.type: got number, want null or string [error]\n"); n != want {
			t.Errorf("%s: %d problems are listed, want %d:\n%s", flag, n, want, got.err)
		}
		if told := strings.Contains(got.err, "    and 10 more: see them with --verbose or --results-dir DIR\n"); told != (want == 20) {
			t.Errorf("%s: what is left out:\n%s", flag, got.err)
		}
	}
}

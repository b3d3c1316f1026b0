// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/e2e/offline/engine"
)

func TestDrop(t *testing.T) {
	t.Parallel()
	lacking := []string{"CAP_SYS_RESOURCE"}
	const process = `{"args":["sh"],"capabilities":{"bounding":["CAP_KILL","CAP_SYS_RESOURCE"],"effective":["CAP_SYS_RESOURCE"]},"user":{"uid":18446744073709551615}}`
	const dropped = `{"args":["sh"],"capabilities":{"bounding":["CAP_KILL"],"effective":[]},"user":{"uid":18446744073709551615}}`
	for name, test := range map[string]struct {
		drop     func([]byte, []string) ([]byte, error)
		in, want string
	}{
		"process":                      {engine.DropFromProcess, process, dropped},
		"process without capabilities": {engine.DropFromProcess, `{"args":["sh"]}`, `{"args":["sh"]}`},
		"container":                    {engine.DropFromSpec, `{"linux":{"a":1},"process":` + process + `}`, `{"linux":{"a":1},"process":` + dropped + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.drop([]byte(test.in), lacking)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDropFromBrokenSpec(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"", "[]", "{}", `{"process":[]}`, `{"process":{"capabilities":[]}}`} {
		if out, err := engine.DropFromSpec([]byte(spec), nil); err == nil {
			t.Errorf("DropFromSpec(%q) = %q, want an error", spec, out)
		}
	}
}

func TestMissingCapabilitiesHaveOCINames(t *testing.T) {
	t.Parallel()
	names, err := engine.Lacking()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "CAP_") || name != strings.ToUpper(name) {
			t.Errorf("Lacking() contains %q, want upper case and the prefix CAP_", name)
		}
	}
}

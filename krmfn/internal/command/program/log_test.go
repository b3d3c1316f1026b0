// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/krmfn/internal/command/program"
)

func TestSpelled(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                             "",
		"render -v":                    "render -v",
		"render -v dir":                "render -v dir",
		"render -v 4 dir":              "render --v=4 dir",
		"-v4 -v=3 --v 2 --v=1":         "--v=4 --v=3 --v 2 --v=1",
		"-vq -v=true":                  "-vq -v=true",
		"--log_dir=a_b --log_file a_b": "--log-dir=a_b --log-file a_b",
		"-o a_b dir_c":                 "-o a_b dir_c",
		"eval -v 4 -- -v 4 --a_b=c":    "eval --v=4 -- -v 4 --a_b=c",
	} {
		if diff := cmp.Diff(want, strings.Join(program.Spelled(strings.Fields(args)), " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", args, diff)
		}
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package sandboxtest helps tests that need the sandbox.
package sandboxtest

import (
	"testing"

	"github.com/krmfn/krmfn/internal/process"
)

// SkipRefused skips a test because the sandbox has reported that it cannot run. The test fails if unshare(1) can create the same
// namespaces and mount in them, because then the kernel is not the reason.
func SkipRefused(t testing.TB, reason any) {
	t.Helper()
	runner := process.NewRunner(process.Options{})
	defer runner.Close()
	outcome, err := runner.Run(t.Context(), process.Command{
		Argv: []string{
			"unshare", "--user", "--map-root-user", "--mount", "--pid", "--ipc", "--uts", "--net", "--fork",
			"mount", "-t", "tmpfs", "none", "/tmp",
		},
		Env: []string{"PATH=/usr/bin:/bin"},
	}, nil)
	if err == nil && outcome.ExitCode == 0 {
		t.Fatalf("the kernel permits sandboxes: %v", reason)
	}
	t.Skipf("%v (unshare: error %v: %s)", reason, err, outcome.Stderr)
}

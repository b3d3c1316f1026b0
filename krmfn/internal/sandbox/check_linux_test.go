// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox_test

import (
	"testing"

	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/krmfn/internal/sandbox"
	"github.com/krmfn/krmfn/krmfn/internal/sandbox/sandboxtest"
)

// Check succeeds wherever images can run.
func TestCheck(t *testing.T) {
	t.Parallel()
	processes := process.NewRunner(process.Options{})
	t.Cleanup(processes.Close)
	if err := sandbox.Check(t.Context(), processes); err != nil {
		sandboxtest.SkipRefused(t, err.Error())
		t.Fatal(err)
	}
}

// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"os"
	"testing"

	"github.com/krmfn/krmfn/e2e/registry"
)

func TestProcessRunsOnceUntilItIsStopped(t *testing.T) {
	t.Parallel()
	listener := listen(t)
	p := registry.Process{Address: listener.Addr().String(), Dir: t.TempDir()}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	p.Command = []string{"env", "TEST_REGISTRY_ADDRESS=" + p.Address, "TEST_REGISTRY_DIR=" + p.Dir, os.Args[0]}
	//nolint:usetesting // The test's context has ended by then.
	t.Cleanup(func() { _ = p.Stop(context.Background()) })
	for _, want := range []bool{true, false} {
		started, err := p.Ensure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if started != want {
			t.Errorf("Ensure() = %v, want %v", started, want)
		}
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := registry.Reachable(t.Context(), p.Address); err == nil {
		t.Error("Reachable() after Stop succeeded, want an error")
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Errorf("second Stop() = %v, want nil", err)
	}
}

func TestProcessThatDoesNotStart(t *testing.T) {
	t.Parallel()
	p := registry.Process{Address: "127.0.0.1:1", Dir: t.TempDir(), Command: []string{"false"}}
	if _, err := p.Ensure(t.Context()); err == nil {
		t.Error("Ensure() of a command that exits succeeded, want an error")
	}
}
